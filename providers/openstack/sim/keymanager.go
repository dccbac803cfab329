package sim

import (
	"net/http"
	"strings"
)

type secret struct {
	object
	name    string
	project string
	kind    string
}

type container struct {
	object
	name    string
	project string
	kind    string
	secrets map[string]string
}

func secretOperations() []operation {
	return []operation{
		read("ListSecrets", "secrets", func(t *tx) (any, error) {
			out := []any{}
			for _, s := range bySeq(t.secrets) {
				if name := t.call.query.Get("name"); t.call.may(s.project) && (name == "" || name == s.name) {
					out = append(out, t.secretView(s))
				}
			}
			return map[string]any{"secrets": out, "total": len(out)}, nil
		}),
		read("ShowSecret", "secrets/{id}", func(t *tx) (any, error) {
			s := t.secrets[t.call.params["id"]]
			if s == nil {
				return nil, refuse(http.StatusNotFound, "", "Secret not found.")
			}
			if !t.call.may(s.project) {
				return nil, refuse(http.StatusForbidden, "", "Secret retrieval attempt not allowed - please review your user/project privileges")
			}
			return t.secretView(s), nil
		}),
		read("ListContainers", "containers", func(t *tx) (any, error) {
			out := []any{}
			for _, c := range bySeq(t.containers) {
				if t.call.may(c.project) {
					out = append(out, t.containerView(c))
				}
			}
			return map[string]any{"containers": out, "total": len(out)}, nil
		}),
		read("ShowContainer", "containers/{id}", func(t *tx) (any, error) {
			c := t.containers[t.call.params["id"]]
			if c == nil {
				return nil, refuse(http.StatusNotFound, "", "Secrets container not found.")
			}
			if !t.call.may(c.project) {
				return nil, refuse(http.StatusForbidden, "", "Container retrieval attempt not allowed - please review your user/project privileges")
			}
			return t.containerView(c), nil
		}),
	}
}

func (t *tx) keyRef(kind, id string) string {
	return t.call.base + "/key-manager/v1/" + kind + "/" + id
}

func (t *tx) secretView(s *secret) any {
	return map[string]any{"secret_ref": t.keyRef("secrets", s.ID), "name": s.name, "status": "ACTIVE", "secret_type": s.kind, "algorithm": nil,
		"bit_length": nil, "mode": nil, "expiration": nil, "created": "2024-01-01T00:00:00", "updated": "2024-01-01T00:00:00",
		"creator_id": s.project, "content_types": map[string]string{"default": "application/octet-stream"}}
}

func (t *tx) containerView(c *container) any {
	refs := []any{}
	for _, name := range sortedKeys(c.secrets) {
		refs = append(refs, map[string]string{"name": name, "secret_ref": t.keyRef("secrets", c.secrets[name])})
	}
	return map[string]any{"container_ref": t.keyRef("containers", c.ID), "name": c.name, "type": c.kind, "status": "ACTIVE", "secret_refs": refs,
		"consumers": []any{}, "created": "2024-01-01T00:00:00", "updated": "2024-01-01T00:00:00", "creator_id": c.project}
}

// hasSecret says whether a reference is to a secret or a container that exists. Only its last part counts, as Octavia asks by ID.
func (t *tx) hasSecret(reference string) bool {
	id := reference[strings.LastIndexByte(reference, '/')+1:]
	return t.secrets[id] != nil || t.containers[id] != nil
}
