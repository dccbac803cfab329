// Package metrics defines a metric and its line in the reference documentation together, so neither can exist
// without the other.
//
// All names begin with "ccm_", and metrics that differ between clouds have a label "provider". Labels take
// their values from closed sets: never an ID, an address or a message. The exception are names of earlier
// managers, which a provider exposes only if it is configured to: existing dashboards use them and their
// labels.
package metrics

import (
	"slices"
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Type is the kind of a metric, as in the exposition format.
type Type string

// The types in use.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Doc is one metric's entry in the reference documentation.
type Doc struct {
	// Name is the whole name, prefix and unit included.
	Name   string
	Type   Type
	Labels []string
	// Help describes the metric, as /metrics exposes it.
	Help string
}

// Set is the metrics of one package. Define all of them before Register.
type Set struct {
	docs     []Doc
	all      []metrics.Registerable
	register sync.Once
}

// Counter defines a counter.
func (s *Set) Counter(d Doc) *metrics.CounterVec {
	v := metrics.NewCounterVec(&metrics.CounterOpts{
		Name: d.Name, Help: d.Help, StabilityLevel: metrics.ALPHA,
	}, d.Labels)
	s.add(d, Counter, v)
	return v
}

// Gauge defines a gauge.
func (s *Set) Gauge(d Doc) *metrics.GaugeVec {
	v := metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name: d.Name, Help: d.Help, StabilityLevel: metrics.ALPHA,
	}, d.Labels)
	s.add(d, Gauge, v)
	return v
}

// Histogram defines a histogram with the given upper bounds of its buckets; nil selects the client library's,
// which range from 5 ms to 10 s.
func (s *Set) Histogram(d Doc, buckets []float64) *metrics.HistogramVec {
	v := metrics.NewHistogramVec(&metrics.HistogramOpts{
		Name: d.Name, Help: d.Help, Buckets: buckets, StabilityLevel: metrics.ALPHA,
	}, d.Labels)
	s.add(d, Histogram, v)
	return v
}

func (s *Set) add(d Doc, t Type, m metrics.Registerable) {
	d.Type = t
	s.docs = append(s.docs, d)
	s.all = append(s.all, m)
}

// Docs returns the metrics' documentation in the order of definition. The Type is filled in.
func (s *Set) Docs() []Doc { return slices.Clone(s.docs) }

// Register exposes the metrics at the process's /metrics. Only the first call has an effect. It is called
// when a package is first used and never from init: a provider that is linked but not selected must not
// expose metrics.
func (s *Set) Register() {
	s.register.Do(func() { legacyregistry.MustRegister(s.all...) })
}
