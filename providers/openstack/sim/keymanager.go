package sim

import (
	"net/http"
	"strings"
)

// secret is a secret of Barbican, or with secrets by name a container of some.
type secret struct {
	object
	name, project, kind string
	secrets             map[string]string
}

func secretOperations() []operation {
	return append(
		keyOperations("Secret", "secrets", func(t *tx) map[string]*secret { return t.secrets }, (*tx).secretView),
		keyOperations("Container", "containers", func(t *tx) map[string]*secret { return t.containers },
			(*tx).containerView)...)
}

// keyOperations returns the reads of secrets or containers.
func keyOperations(kind, path string, all func(*tx) map[string]*secret, view func(*tx, *secret) any) []operation {
	subject := map[string]string{"Secret": "Secret", "Container": "Secrets container"}[kind]
	return []operation{
		read("List"+kind+"s", path, func(t *tx) (any, error) {
			out := []any{}
			for _, s := range bySeq(all(t)) {
				if name := t.call.query.Get("name"); t.call.may(s.project) && (name == "" || name == s.name) {
					out = append(out, view(t, s))
				}
			}
			return map[string]any{path: out, "total": len(out)}, nil
		}),
		read("Show"+kind, path+"/{id}", func(t *tx) (any, error) {
			s := all(t)[t.call.params["id"]]
			if s == nil {
				return nil, refuse(http.StatusNotFound, "", "%s not found.", subject)
			}
			if !t.call.may(s.project) {
				return nil, refuse(http.StatusForbidden, "",
					"%s retrieval attempt not allowed - please review your user/project privileges", kind)
			}
			return view(t, s), nil
		}),
	}
}

func (t *tx) keyRef(kind, id string) string {
	return t.call.base + "/key-manager/v1/" + kind + "/" + id
}

func (t *tx) secretView(s *secret) any {
	return map[string]any{"secret_ref": t.keyRef("secrets", s.ID), "name": s.name, "status": "ACTIVE",
		"secret_type": s.kind, "algorithm": nil,
		"bit_length": nil, "mode": nil, "expiration": nil, "created": "2024-01-01T00:00:00", "updated": "2024-01-01T00:00:00",
		"creator_id": s.project, "content_types": map[string]string{"default": "application/octet-stream"}}
}

func (t *tx) containerView(c *secret) any {
	refs := []any{}
	for _, name := range sortedKeys(c.secrets) {
		refs = append(refs, map[string]string{"name": name, "secret_ref": t.keyRef("secrets", c.secrets[name])})
	}
	return map[string]any{"container_ref": t.keyRef("containers", c.ID), "name": c.name, "type": c.kind,
		"status": "ACTIVE", "secret_refs": refs,
		"consumers": []any{}, "created": "2024-01-01T00:00:00", "updated": "2024-01-01T00:00:00", "creator_id": c.project}
}

// secretExists reports whether a reference is to a secret or a container that exists. Only its last part counts,
// because Octavia gets secrets by ID.
func (t *tx) secretExists(reference string) bool {
	id := reference[strings.LastIndexByte(reference, '/')+1:]
	return t.secrets[id] != nil || t.containers[id] != nil
}
