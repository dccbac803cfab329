package core

import (
	"maps"
	"net/http"
)

// SetLabels replaces the labels of a resource, whose fingerprint the caller must know.
func SetLabels(s *State, k *Call, x Entity, labels *map[string]string, fingerprint *string) (*Operation, error) {
	var in struct {
		Labels      map[string]string `json:"labels"`
		Fingerprint string            `json:"labelFingerprint"`
	}
	if err := Decode(k, &in); err != nil {
		return nil, err
	}
	if in.Fingerprint != *fingerprint {
		return nil, errLabels()
	}
	return s.Start(k, x, "setLabels", false, func() {
		*labels, *fingerprint = maps.Clone(in.Labels), Fingerprint(in.Labels)
	})
}

// errLabels returns the error for labels that were changed by someone else.
func errLabels() error {
	return refuse(http.StatusPreconditionFailed, "conditionNotMet",
		"Labels fingerprint either invalid or resource labels have changed")
}
