package model

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// MergeBackends returns the wanted backends, in the order of those that exist, so that each keeps its other settings.
func MergeBackends(have, want []api.Backend) []api.Backend {
	isIn := func(list []api.Backend, b api.Backend) bool {
		return slices.ContainsFunc(list, func(o api.Backend) bool { return api.SameLink(o.Group, b.Group) })
	}
	var out []api.Backend
	for _, b := range have {
		if isIn(want, b) {
			out = append(out, b)
		}
	}
	for _, b := range want {
		if !isIn(have, b) {
			out = append(out, b)
		}
	}
	return out
}
