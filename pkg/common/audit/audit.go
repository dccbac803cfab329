// Package audit finds and mends what somebody else changed in the cloud. The framework looks at a
// load balancer when its Service or the nodes change, and never otherwise: a listener removed by
// hand would stay removed for as long as the manager runs.
package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// DefaultPeriod is how long a change made by somebody else may last. A load balancer costs a
// handful of reads for each period: half an hour keeps 200 of them under one call a second.
const DefaultPeriod = 30 * time.Minute

// idlePause is how often an audit without work looks whether there is some.
const idlePause = time.Minute

// startPause is how long the first look of all waits: a start, which may read hundreds of load balancers,
// has the cloud's limits for itself. The first round takes as much longer.
const startPause = time.Minute

// Options are what New needs. All fields but Clock are required.
type Options struct {
	// Provider is the cloud's name, the label of the metric.
	Provider string
	// ClusterName is the --cluster-name flag.
	ClusterName string
	// Period is how long it takes to look at every load balancer once; they are spread evenly over it.
	Period   time.Duration
	Services corelisters.ServiceLister
	Nodes    corelisters.NodeLister
	// Synced returns true once the listers are filled.
	Synced []cache.InformerSynced
	// Client writes the status of a Service whose load balancer had to be made anew.
	Client kubernetes.Interface
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Audit looks at every load balancer once in a period.
type Audit struct {
	options Options
	auditor loadbalancer.Auditor
}

// New returns the audit of a provider's load balancers. It is false if there is nothing to do:
// the period is not positive, or the provider cannot audit.
func New(o Options, cloud cloudprovider.Interface) (*Audit, bool) {
	balancer, ok := cloud.LoadBalancer()
	if !ok || o.Period <= 0 {
		return nil, false
	}
	auditor, ok := balancer.(loadbalancer.Auditor)
	if !ok {
		return nil, false
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	process().set.Register()
	return &Audit{options: o, auditor: auditor}, true
}

// Run audits until ctx ends. A load balancer is first looked at after it has had its share of a
// period, and a minute: at start the framework looks at all of them anyway.
func (a *Audit) Run(ctx context.Context) {
	if !cache.WaitForNamedCacheSyncWithContext(ctx, a.options.Synced...) {
		return
	}
	for least := min(startPause, a.options.Period); ctx.Err() == nil; {
		keys := a.keys(ctx)
		if len(keys) == 0 {
			a.pause(ctx, min(idlePause, a.options.Period))
		}
		for _, key := range keys {
			if !a.pause(ctx, max(least, a.options.Period/time.Duration(len(keys)))) {
				return
			}
			least = 0
			a.one(ctx, key)
		}
	}
}

// keys lists the Services to look at, in an order that stays.
func (a *Audit) keys(ctx context.Context) []cache.ObjectName {
	services, err := a.options.Services.List(labels.Everything())
	if err != nil {
		klog.FromContext(ctx).Error(err, "Listing Services for the audit failed")
		return nil
	}
	var keys []cache.ObjectName
	for _, s := range services {
		if subject(s) {
			keys = append(keys, cache.MetaObjectToName(s))
		}
	}
	slices.SortFunc(keys, func(x, y cache.ObjectName) int {
		return slices.Compare([]string{x.Namespace, x.Name}, []string{y.Namespace, y.Name})
	})
	return keys
}

// subject says whether the Service has a load balancer that the framework has made: one that it
// has not come to yet is its business.
func subject(s *v1.Service) bool {
	return loadbalancer.Wanted(s) && servicehelper.HasLBFinalizer(s) && len(s.Status.LoadBalancer.Ingress) > 0
}

// one audits one Service. Errors are logged and counted; the next period tries again.
func (a *Audit) one(ctx context.Context, key cache.ObjectName) {
	logger := klog.FromContext(ctx).WithValues("provider", a.options.Provider, "service", key)
	var audited *v1.Service
	drift, status, err := a.auditor.AuditLoadBalancer(ctx, a.options.ClusterName, func() (*v1.Service, []*v1.Node) {
		audited = a.service(key)
		nodes, err := a.options.Nodes.List(labels.Everything())
		if err != nil {
			audited = nil // an audit without nodes would take all members out
		}
		return audited, loadbalancer.TrafficNodes(nodes)
	})
	if err == nil && audited != nil && status != nil {
		err = a.publish(audited, status)
	}
	switch {
	case err != nil:
		process().audits.WithLabelValues(a.options.Provider, "failed").Inc()
		logger.Error(err, "Auditing a load balancer failed; it is tried again in the next period", "period", a.options.Period)
	case drift.Empty():
		process().audits.WithLabelValues(a.options.Provider, "clean").Inc()
	default:
		process().audits.WithLabelValues(a.options.Provider, "repaired").Inc()
		logger.Info("A load balancer was not as its Service asks, and was changed back", "changes", plan.Summary(drift))
	}
}

// service returns a Service as it is now, nil if it is nothing for the audit any more.
func (a *Audit) service(key cache.ObjectName) *v1.Service {
	s, err := a.options.Services.Services(key.Namespace).Get(key.Name)
	if err != nil || !subject(s) {
		return nil
	}
	return s
}

// publish writes the status where it has changed: a load balancer that had to be made anew may
// have another address, and the framework would only write it at the Service's next change.
func (a *Audit) publish(service *v1.Service, status *v1.LoadBalancerStatus) error {
	if len(status.Ingress) == 0 || servicehelper.LoadBalancerStatusEqual(&service.Status.LoadBalancer, status) {
		return nil
	}
	updated := service.DeepCopy()
	updated.Status.LoadBalancer = *status
	if _, err := servicehelper.PatchService(a.options.Client.CoreV1(), service, updated); err != nil {
		return fmt.Errorf("writing the new address into the Service's status: %w", err)
	}
	return nil
}

// pause waits, and says whether to go on.
func (a *Audit) pause(ctx context.Context, d time.Duration) bool {
	timer := a.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
