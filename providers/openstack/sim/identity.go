package sim

import (
	"net/http"
	"time"
)

// project is a tenant. All are in the domain Default.
type project struct {
	object
	name string
}

type user struct {
	object
	name, password string
	// roles by project.
	roles map[string][]string
}

type appCred struct {
	object
	name, secret  string
	user, project string
}

type trust struct {
	object
	trustor, trustee, project string
}

// token grants access to a project, or only to Keystone if project is empty.
type token struct {
	object
	user, project   string
	methods         []string
	trust, appCred  string
	issued, expires time.Time
	admin           bool
	roles           []string
}

// The one domain.
const (
	domainID   = "default"
	domainName = "Default"
)

// keystoneTime is the time format of Keystone.
const keystoneTime = "2006-01-02T15:04:05.000000Z"

func identityOperations() []operation {
	issue := operation{name: "CreateToken", method: http.MethodPost, path: split("auth/tokens"), open: true,
		do: (*tx).issueToken}
	revoke := remove("RevokeToken", "auth/tokens", (*tx).revokeToken)
	return []operation{
		issue, revoke,
		{name: "ValidateToken", method: http.MethodGet, path: split("auth/tokens"), do: (*tx).showToken},
		read("ShowCatalog", "auth/catalog", func(t *tx) (any, error) {
			return map[string]any{"catalog": t.catalog()}, nil
		}),
		read("ListAuthProjects", "auth/projects", (*tx).listProjects),
		read("ListUserProjects", "users/{id}/projects", (*tx).listProjects),
		read("ListProjects", "projects", (*tx).listProjects),
		read("ShowProject", "projects/{id}", func(t *tx) (any, error) {
			p := t.projects[t.call.params["id"]]
			if p == nil || !t.call.may(p.ID) {
				return nil, refuse(http.StatusNotFound, "", "Could not find project: %s.", t.call.params["id"])
			}
			return map[string]any{"project": p.view()}, nil
		}),
	}
}

func (p *project) view() any {
	return map[string]any{"id": p.ID, "name": p.name, "domain_id": domainID, "enabled": true, "is_domain": false,
		"parent_id": domainID, "description": "", "tags": []string{}, "options": map[string]any{}}
}

func (t *tx) listProjects() (any, error) {
	out := []any{}
	for _, p := range bySeq(t.projects) {
		if u := t.users[t.call.token.user]; u != nil && len(u.roles[p.ID]) > 0 {
			if name := t.call.query.Get("name"); name == "" || name == p.name {
				out = append(out, p.view())
			}
		}
	}
	return map[string]any{"projects": out, "links": map[string]any{"self": t.call.base + t.call.path, "next": nil,
		"previous": nil}}, nil
}

// valid returns the token with the ID unless it has expired.
func (t *tx) valid(id string) *token {
	k := t.tokens[id]
	if k == nil || !t.now.Before(k.expires) {
		return nil
	}
	return k
}

func (t *tx) revokeToken() error {
	id := t.call.header.Get("X-Subject-Token")
	if t.valid(id) == nil {
		return refuse(http.StatusNotFound, "", "Could not recognize Fernet token")
	}
	delete(t.tokens, id)
	return nil
}

func (t *tx) showToken() (answer, error) {
	id := t.call.header.Get("X-Subject-Token")
	k := t.valid(id)
	if k == nil {
		return answer{}, refuse(http.StatusNotFound, "", "Could not recognize Fernet token")
	}
	return answer{status: http.StatusOK, body: map[string]any{"token": t.tokenView(k)},
		header: http.Header{"X-Subject-Token": {id}}}, nil
}

func (t *tx) issueToken() (answer, error) {
	in, err := decodeAuth(t.call.body)
	if err != nil {
		return answer{}, err
	}
	k, err := t.authenticate(in)
	if err == nil {
		err = t.scope(k, in)
	}
	if err != nil {
		return answer{}, err
	}
	t.deleteExpiredTokens()
	k.ID, k.issued = "gAAAAA"+t.newHex()+t.newHex(), t.now
	t.tokens[k.ID] = k
	body := t.tokenView(k)
	return answer{status: http.StatusCreated, body: map[string]any{"token": body},
		header: http.Header{"X-Subject-Token": {k.ID}}}, nil
}

func (t *tx) deleteExpiredTokens() {
	for id, k := range t.tokens {
		if !t.now.Before(k.expires) {
			delete(t.tokens, id)
		}
	}
}

func (t *tx) tokenView(k *token) map[string]any {
	domain := map[string]any{"id": domainID, "name": domainName}
	u := t.users[k.user]
	out := map[string]any{
		"methods": k.methods, "audit_ids": []string{k.ID[6:28]}, "issued_at": k.issued.UTC().Format(keystoneTime),
		"expires_at": k.expires.UTC().Format(keystoneTime),
		"user":       map[string]any{"id": k.user, "name": u.name, "domain": domain, "password_expires_at": nil},
	}
	if k.project == "" {
		return out
	}
	out["project"] = map[string]any{"id": k.project, "name": t.projects[k.project].name, "domain": domain}
	out["is_domain"] = false
	roles := []any{}
	for _, r := range k.roles {
		roles = append(roles, map[string]any{"id": roleID(r), "name": r})
	}
	out["roles"] = roles
	if !t.call.query.Has("nocatalog") {
		out["catalog"] = t.catalog()
	}
	if x := t.trusts[k.trust]; x != nil {
		out["OS-TRUST:trust"] = map[string]any{"id": x.ID, "impersonation": true,
			"trustor_user": map[string]any{"id": x.trustor}, "trustee_user": map[string]any{"id": x.trustee}}
	}
	if a := t.appCreds[k.appCred]; a != nil {
		out["application_credential"] = map[string]any{"id": a.ID, "name": a.name, "restricted": true}
	}
	return out
}

// roleID returns the same at every start, as clients do not use it.
func roleID(name string) string {
	const hex = "0123456789abcdef"
	out := make([]byte, 32)
	for i := range out {
		out[i] = hex[(int(name[i%len(name)])+i)%16]
	}
	return string(out)
}

// catalog names every service's endpoints in the region, after those of other regions.
func (t *tx) catalog() []any {
	out := []any{}
	for _, service := range serviceTypes() {
		if contains(t.o.Without, service) {
			continue
		}
		endpoints := []any{}
		add := func(region, url string) {
			for _, kind := range []string{"public", "internal", "admin"} {
				endpoints = append(endpoints, map[string]any{"id": roleID(service + kind + region), "interface": kind,
					"region": region, "region_id": region, "url": url})
			}
		}
		for _, other := range t.o.OtherRegions {
			add(other, t.call.base+"/other-region/"+other+"/"+service)
		}
		add(t.o.Region, t.endpoint(t.call.base, service))
		out = append(out, map[string]any{"id": roleID(service), "type": service, "name": serviceNames()[service],
			"endpoints": endpoints})
	}
	return out
}
