package neutron

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// maxTag is the longest tag of Neutron.
const maxTag = 60

func tagOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("ListTags", "{kind}/{id}/tags", func(t *Tx) (any, error) {
			n, err := t.taggable()
			if err != nil {
				return nil, err
			}
			return map[string]any{"tags": n.Tags}, nil
		}),
		core.Change("ReplaceTags", "{kind}/{id}/tags", (*Tx).replaceTags),
		core.Write("AddTag", http.MethodPut, "{kind}/{id}/tags/{tag}", http.StatusCreated, func(t *Tx) (any, error) {
			n, err := t.taggable()
			if err != nil {
				return nil, err
			}
			if tag := t.Call.Params["tag"]; !slices.Contains(n.Tags, tag) {
				if err := checkTags([]string{tag}); err != nil {
					return nil, err
				}
				n.Tags = append(n.Tags, tag)
				slices.Sort(n.Tags)
				t.MarkUpdated(n)
			}
			return json.RawMessage("null"), nil
		}),
		core.Remove("RemoveTag", "{kind}/{id}/tags/{tag}", func(t *Tx) error {
			n, err := t.taggable()
			if err != nil {
				return err
			}
			i := slices.Index(n.Tags, t.Call.Params["tag"])
			if i < 0 {
				return core.Refuse(http.StatusNotFound, "TagNotFound", "Tag %s could not be found.", t.Call.Params["tag"])
			}
			n.Tags = slices.Delete(n.Tags, i, i+1)
			t.MarkUpdated(n)
			return nil
		}),
		core.Remove("RemoveAllTags", "{kind}/{id}/tags", func(t *Tx) error {
			n, err := t.taggable()
			if err != nil {
				return err
			}
			n.Tags = []string{}
			t.MarkUpdated(n)
			return nil
		}),
	}
}

// taggable finds the object whose tags are requested.
func (t *Tx) taggable() (*Base, error) {
	if !t.HasExtension("standard-attr-tag") {
		return nil, core.ErrNoResource()
	}
	kind, id := t.Call.Params["kind"], t.Call.Params["id"]
	var x neutronEntity
	var found bool
	switch kind {
	case "ports":
		x, found = find(t.Ports, id)
	case "networks":
		x, found = find(t.Networks, id)
	case "subnets":
		x, found = find(t.Subnets, id)
	case "routers":
		x, found = find(t.Routers, id)
	case "floatingips":
		x, found = find(t.Addresses, id)
	case "security-groups":
		x, found = find(t.Groups, id)
	default:
		return nil, core.ErrNoResource()
	}
	if !found || !t.Call.May(x.common().Project) {
		return nil, core.Refuse(http.StatusNotFound, "TagResourceNotFound", "Resource %s %s could not be found.", kind, id)
	}
	return x.common(), nil
}

func find[T any](m map[string]T, id string) (T, bool) {
	x, ok := m[id]
	return x, ok
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
	n.Tags = append([]string{}, in.Tags...)
	slices.Sort(n.Tags)
	n.Tags = slices.Compact(n.Tags)
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
