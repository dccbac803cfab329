package core

import (
	"net/http"
)

// Labels is embedded in resources with labels.
type Labels struct {
	Labels           map[string]string `json:"labels,omitempty"`
	LabelFingerprint string            `json:"labelFingerprint" set:"output"`
}

func (l *Labels) refreshLabels() { l.LabelFingerprint = Fingerprint(l.Labels) }

// LabelVerb returns the method that replaces the labels of a resource, whose fingerprint the caller must know.
func LabelVerb[T Entity](c Collection[T], labels func(T) *Labels) Method {
	return Verb(c, "setLabels", "setLabels", func(k *Call, x T, in *Labels) (any, error) {
		if in.LabelFingerprint != labels(x).LabelFingerprint {
			return nil, refuse(http.StatusPreconditionFailed, "conditionNotMet",
				"Labels fingerprint either invalid or resource labels have changed")
		}
		return c.State.Start(k, x, "setLabels", false, func() {
			labels(x).Labels = in.Labels
			labels(x).refreshLabels()
		})
	})
}
