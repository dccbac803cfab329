package sim

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// withoutHidden removes attributes that the service does not have.
func withoutHidden(body any, hidden []string) (any, error) {
	if len(hidden) == 0 || body == nil {
		return body, nil
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, err
	}
	removeKeys(out, hidden)
	return out, nil
}

func removeKeys(body any, names []string) {
	switch v := body.(type) {
	case []any:
		for _, x := range v {
			removeKeys(x, names)
		}
	case map[string]any:
		maps.DeleteFunc(v, func(name string, _ any) bool { return slices.Contains(names, name) })
		for _, x := range v {
			removeKeys(x, names)
		}
	}
}

// hiddenAttributes returns the attributes that the responses of a service do not have.
func (t *tx) hiddenAttributes() []string {
	switch {
	case t.Call.Service == core.ServiceLoadBalancer:
		return t.MissingAttributes()
	case t.Call.Service == core.ServiceNetwork && !t.HasExtension("standard-attr-tag"):
		return []string{"tags"}
	}
	return nil
}
