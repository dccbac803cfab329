package keystone

import (
	"net/http"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// Operations returns the operations of Keystone.
func Operations() []core.Operation[*Tx] {
	issue := core.Operation[*Tx]{Name: "CreateToken", Method: http.MethodPost, Path: core.Split("auth/tokens"), Open: true,
		Do: (*Tx).issueToken}
	revoke := core.Remove("RevokeToken", "auth/tokens", (*Tx).revokeToken)
	return []core.Operation[*Tx]{
		issue, revoke,
		{Name: "ValidateToken", Method: http.MethodGet, Path: core.Split("auth/tokens"), Do: (*Tx).showToken},
		core.Read("ShowCatalog", "auth/catalog", func(t *Tx) (any, error) {
			return map[string]any{"catalog": t.catalog()}, nil
		}),
		core.Read("ListAuthProjects", "auth/projects", (*Tx).listProjects),
		core.Read("ListUserProjects", "users/{id}/projects", (*Tx).listProjects),
		core.Read("ListProjects", "projects", (*Tx).listProjects),
		core.Read("ShowProject", "projects/{id}", func(t *Tx) (any, error) {
			p := t.Projects[t.Call.Params["id"]]
			if p == nil || !t.Call.May(p.ID) {
				return nil, core.Refuse(http.StatusNotFound, "", "Could not find project: %s.", t.Call.Params["id"])
			}
			return map[string]any{"project": p.view()}, nil
		}),
	}
}
