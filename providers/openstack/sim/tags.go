package sim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
)

func itoa(n int) string { return strconv.Itoa(n) }

// maxTag is the longest tag of Neutron.
const maxTag = 60

func tagOperations() []operation {
	return []operation{
		read("ListTags", "{kind}/{id}/tags", func(t *tx) (any, error) {
			n, err := t.taggable()
			if err != nil {
				return nil, err
			}
			return map[string]any{"tags": n.Tags}, nil
		}),
		change("ReplaceTags", "{kind}/{id}/tags", (*tx).replaceTags),
		write("AddTag", http.MethodPut, "{kind}/{id}/tags/{tag}", http.StatusCreated, func(t *tx) (any, error) {
			n, err := t.taggable()
			if err != nil {
				return nil, err
			}
			if tag := t.call.params["tag"]; !slices.Contains(n.Tags, tag) {
				if err := checkTags([]string{tag}); err != nil {
					return nil, err
				}
				n.Tags = append(n.Tags, tag)
				slices.Sort(n.Tags)
				t.markUpdated(n)
			}
			return json.RawMessage("null"), nil
		}),
		remove("RemoveTag", "{kind}/{id}/tags/{tag}", func(t *tx) error {
			n, err := t.taggable()
			if err != nil {
				return err
			}
			i := slices.Index(n.Tags, t.call.params["tag"])
			if i < 0 {
				return refuse(http.StatusNotFound, "TagNotFound", "Tag %s could not be found.", t.call.params["tag"])
			}
			n.Tags = slices.Delete(n.Tags, i, i+1)
			t.markUpdated(n)
			return nil
		}),
		remove("RemoveAllTags", "{kind}/{id}/tags", func(t *tx) error {
			n, err := t.taggable()
			if err != nil {
				return err
			}
			n.Tags = []string{}
			t.markUpdated(n)
			return nil
		}),
	}
}

// taggable finds the object whose tags are requested.
func (t *tx) taggable() (*neutronObject, error) {
	if !t.hasExtension("standard-attr-tag") {
		return nil, errNoResource()
	}
	kind, id := t.call.params["kind"], t.call.params["id"]
	var x neutronEntity
	var found bool
	switch kind {
	case "ports":
		x, found = find(t.ports, id)
	case "networks":
		x, found = find(t.networks, id)
	case "subnets":
		x, found = find(t.subnets, id)
	case "routers":
		x, found = find(t.routers, id)
	case "floatingips":
		x, found = find(t.addresses, id)
	case "security-groups":
		x, found = find(t.groups, id)
	default:
		return nil, errNoResource()
	}
	if !found || !t.call.may(x.common().Project) {
		return nil, refuse(http.StatusNotFound, "TagResourceNotFound", "Resource %s %s could not be found.", kind, id)
	}
	return x.common(), nil
}

func find[T any](m map[string]T, id string) (T, bool) {
	x, ok := m[id]
	return x, ok
}

func (t *tx) replaceTags() (any, error) {
	n, err := t.taggable()
	if err != nil {
		return nil, err
	}
	var in struct {
		Tags []string `json:"tags"`
	}
	if err := json.Unmarshal(t.call.body, &in); err != nil {
		return nil, malformed(serviceNetwork)
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	n.Tags = append([]string{}, in.Tags...)
	slices.Sort(n.Tags)
	n.Tags = slices.Compact(n.Tags)
	t.markUpdated(n)
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
