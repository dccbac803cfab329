package neutron

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// maxTag is the maximum length of a tag.
const maxTag = 60

// taggable returns the object that the call names.
func (t *Tx) taggable() (*Base, error) {
	if !t.HasExtension("standard-attr-tag") {
		return nil, core.ErrNoResource()
	}
	switch t.Call.Params["kind"] {
	case "ports":
		return taggableOf(t, t.Ports)
	case "networks":
		return taggableOf(t, t.Networks)
	case "subnets":
		return taggableOf(t, t.Subnets)
	case "routers":
		return taggableOf(t, t.Routers)
	case "floatingips":
		return taggableOf(t, t.Addresses)
	case "security-groups":
		return taggableOf(t, t.Groups)
	}
	return nil, core.ErrNoResource()
}

func taggableOf[T entity](t *Tx, all map[string]T) (*Base, error) {
	x, err := lookup(t, all, t.Call.Params["id"], func(id string) error {
		return core.Refuse(http.StatusNotFound, "TagResourceNotFound", "Resource %s %s could not be found.",
			t.Call.Params["kind"], id)
	})
	if err != nil {
		return nil, err
	}
	return x.common(), nil
}

func (t *Tx) replaceTags() (any, error) {
	n, err := t.taggable()
	if err != nil {
		return nil, err
	}
	var in struct {
		Tags []string `json:"tags"`
	}
	if err := json.Unmarshal(t.Call.Body, &in); err != nil {
		return nil, core.Malformed(core.ServiceNetwork)
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	n.Tags = append([]string{}, slices.Compact(slices.Sorted(slices.Values(in.Tags)))...)
	t.MarkUpdated(n)
	return map[string]any{"tags": n.Tags}, nil
}

func checkTags(tags []string) error {
	for _, tag := range tags {
		if len(tag) > maxTag {
			return badRequest("HTTPBadRequest", "Invalid input for operation: '%s' exceeds maximum length of %d.", tag, maxTag)
		}
	}
	return nil
}
