// Package barbican simulates Barbican.
package barbican

import (
	"net/http"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// State has all objects by ID.
type State struct {
	Secrets    map[string]*Secret
	Containers map[string]*Secret
}

// NewState returns the state without objects.
func NewState() *State {
	return &State{Secrets: map[string]*Secret{}, Containers: map[string]*Secret{}}
}

// Tx is one operation on the state.
type Tx struct {
	*core.Tx
	*State
}

// Secret is a secret of Barbican, or a container of secrets by name.
type Secret struct {
	core.Object
	Name, Project, Kind string
	Secrets             map[string]string
}

// Operations returns the operations of Barbican.
func Operations() []core.Operation[*Tx] {
	return append(
		keyOperations("Secret", "secrets", func(t *Tx) map[string]*Secret { return t.Secrets }, (*Tx).secretView),
		keyOperations("Container", "containers", func(t *Tx) map[string]*Secret { return t.Containers },
			(*Tx).containerView)...)
}

// keyOperations returns the reads of secrets or containers.
func keyOperations(
	kind, path string, all func(*Tx) map[string]*Secret, view func(*Tx, *Secret) any,
) []core.Operation[*Tx] {
	noun := map[string]string{"Secret": "Secret", "Container": "Secrets container"}[kind]
	return []core.Operation[*Tx]{
		core.Read("List"+kind+"s", path, func(t *Tx) (any, error) {
			out := []any{}
			for _, s := range core.BySeq(all(t)) {
				if name := t.Call.Query.Get("name"); t.Call.May(s.Project) && (name == "" || name == s.Name) {
					out = append(out, view(t, s))
				}
			}
			return map[string]any{path: out, "total": len(out)}, nil
		}),
		core.Read("Show"+kind, path+"/{id}", func(t *Tx) (any, error) {
			s := all(t)[t.Call.Params["id"]]
			if s == nil {
				return nil, core.Refuse(http.StatusNotFound, "", "%s not found.", noun)
			}
			if !t.Call.May(s.Project) {
				return nil, core.Refuse(http.StatusForbidden, "",
					"%s retrieval attempt not allowed - please review your user/project privileges", kind)
			}
			return view(t, s), nil
		}),
	}
}

// KeyRef returns the reference to a secret or a container.
func (t *Tx) KeyRef(kind, id string) string {
	return t.Call.Base + "/key-manager/v1/" + kind + "/" + id
}

func (t *Tx) secretView(s *Secret) any {
	return map[string]any{"secret_ref": t.KeyRef("secrets", s.ID), "name": s.Name, "status": "ACTIVE",
		"secret_type": s.Kind, "algorithm": nil, "bit_length": nil, "mode": nil, "expiration": nil,
		"created": "2024-01-01T00:00:00", "updated": "2024-01-01T00:00:00", "creator_id": s.Project,
		"content_types": map[string]string{"default": "application/octet-stream"}}
}

func (t *Tx) containerView(c *Secret) any {
	refs := []any{}
	for _, name := range core.SortedKeys(c.Secrets) {
		refs = append(refs, map[string]string{"name": name, "secret_ref": t.KeyRef("secrets", c.Secrets[name])})
	}
	return map[string]any{"container_ref": t.KeyRef("containers", c.ID), "name": c.Name, "type": c.Kind,
		"status": "ACTIVE", "secret_refs": refs, "consumers": []any{}, "created": "2024-01-01T00:00:00",
		"updated": "2024-01-01T00:00:00", "creator_id": c.Project}
}

// SecretExists reports whether a reference is to an existing secret or container. Only its last part matters,
// because Octavia gets secrets by ID.
func (t *Tx) SecretExists(reference string) bool {
	id := reference[strings.LastIndexByte(reference, '/')+1:]
	return t.Secrets[id] != nil || t.Containers[id] != nil
}
