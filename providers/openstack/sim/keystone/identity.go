// Package keystone simulates Keystone.
package keystone

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// State has all objects by ID.
type State struct {
	Projects map[string]*Project
	users    map[string]*User
	AppCreds map[string]*AppCred
	Trusts   map[string]*Trust
	Tokens   map[string]*token
	// TokensEndAfter is the number of authenticated calls after which all tokens expire; 0 means never.
	TokensEndAfter int
}

// UnusedAccessRules returns the access rules that have allowed no request. If several allow a request, it counts for
// the first.
func (s *State) UnusedAccessRules() []core.AccessRule {
	var unused []core.AccessRule
	for _, credential := range s.AppCreds {
		if credential.access == nil {
			continue
		}
		for n, used := range credential.access.used {
			if !used {
				unused = append(unused, credential.access.rules[n])
			}
		}
	}
	return unused
}

// NewState returns the state without objects.
func NewState() *State {
	return &State{
		Projects: map[string]*Project{}, users: map[string]*User{}, AppCreds: map[string]*AppCred{},
		Trusts: map[string]*Trust{}, Tokens: map[string]*token{},
	}
}

// Tx is one operation on the state.
type Tx struct {
	*core.Tx
	*State
}

// Project is a tenant. All are in the domain Default.
type Project struct {
	core.Object
	Name string
}

// User is a user with roles.
type User struct {
	core.Object
	Name, Password string
	// roles by project.
	roles map[string][]string
}

// AppCred is an application credential.
type AppCred struct {
	core.Object
	Name, Secret  string
	User, Project string
	// Allows reports whether the rules that the console sets allow an operation of a service. Nil allows all.
	Allows func(service, operation string) bool

	access *accessRules
}

// NewAppCred creates an application credential of a user for a project, with access rules unless they are nil.
func (t *Tx) NewAppCred(name string, u *User, p *Project, rules []core.AccessRule) {
	a := &AppCred{Object: t.NewObject(t.NewHex()), Name: name, Secret: t.NewHex(), User: u.ID, Project: p.ID,
		access: newAccessRules(rules)}
	t.AppCreds[a.ID] = a
}

// allow reports whether the access rules allow the call.
func (a *AppCred) allow(k *core.Call) bool {
	return (a.Allows == nil || a.Allows(k.Service, k.Operation)) && a.access.allow(k)
}

// Trust lets a trustee act as the trustor in a project.
type Trust struct {
	core.Object
	Trustor, Trustee, Project string
}

// token grants access to a project, or only to Keystone if project is empty.
type token struct {
	core.Object
	core.Caller
	methods         []string
	trust, appCred  string
	issued, expires time.Time
	roles           []string
}

// The only domain.
const (
	DomainID   = "default"
	DomainName = "Default"
)

// keystoneTime is the time format of Keystone.
const keystoneTime = "2006-01-02T15:04:05.000000Z"

func (p *Project) view() any {
	return map[string]any{"id": p.ID, "name": p.Name, "domain_id": DomainID, "enabled": true, "is_domain": false,
		"parent_id": DomainID, "description": "", "tags": []string{}, "options": map[string]any{}}
}

func (t *Tx) listProjects() (any, error) {
	out := []any{}
	for _, p := range core.BySeq(t.Projects) {
		if u := t.users[t.Call.Caller.User]; u != nil && len(u.roles[p.ID]) > 0 {
			if name := t.Call.Query.Get("name"); name == "" || name == p.Name {
				out = append(out, p.view())
			}
		}
	}
	return map[string]any{"projects": out, "links": map[string]any{"self": t.Call.Base + t.Call.Path, "next": nil,
		"previous": nil}}, nil
}

// validToken returns the token with the ID unless it has expired.
func (t *Tx) validToken(id string) *token {
	k := t.Tokens[id]
	if k == nil || !t.Now.Before(k.expires) {
		return nil
	}
	return k
}

func errUnknownToken() error {
	return core.Refuse(http.StatusNotFound, "", "Could not recognize Fernet token")
}

func (t *Tx) revokeToken() error {
	id := t.Call.Header.Get("X-Subject-Token")
	if t.validToken(id) == nil {
		return errUnknownToken()
	}
	delete(t.Tokens, id)
	return nil
}

func (t *Tx) showToken() (core.Response, error) {
	id := t.Call.Header.Get("X-Subject-Token")
	k := t.validToken(id)
	if k == nil {
		return core.Response{}, errUnknownToken()
	}
	return core.Response{Status: http.StatusOK, Body: map[string]any{"token": t.tokenView(k)},
		Header: http.Header{"X-Subject-Token": {id}}}, nil
}

func (t *Tx) deleteExpiredTokens() {
	maps.DeleteFunc(t.Tokens, func(_ string, k *token) bool { return !t.Now.Before(k.expires) })
}

func (t *Tx) tokenView(k *token) map[string]any {
	domain := map[string]any{"id": DomainID, "name": DomainName}
	u := t.users[k.User]
	out := map[string]any{
		"methods": k.methods, "audit_ids": []string{k.ID[6:28]}, "issued_at": k.issued.UTC().Format(keystoneTime),
		"expires_at": k.expires.UTC().Format(keystoneTime),
		"user":       map[string]any{"id": k.User, "name": u.Name, "domain": domain, "password_expires_at": nil},
	}
	if k.Project == "" {
		return out
	}
	out["project"] = map[string]any{"id": k.Project, "name": t.Projects[k.Project].Name, "domain": domain}
	out["is_domain"] = false
	roles := []any{}
	for _, r := range k.roles {
		roles = append(roles, map[string]any{"id": core.FixedID(r), "name": r})
	}
	out["roles"] = roles
	if !t.Call.Query.Has("nocatalog") {
		out["catalog"] = t.catalog()
	}
	if trust := t.Trusts[k.trust]; trust != nil {
		out["OS-TRUST:trust"] = map[string]any{"id": trust.ID, "impersonation": true,
			"trustor_user": map[string]any{"id": trust.Trustor}, "trustee_user": map[string]any{"id": trust.Trustee}}
	}
	if a := t.AppCreds[k.appCred]; a != nil {
		out["application_credential"] = map[string]any{"id": a.ID, "name": a.Name, "restricted": true}
	}
	return out
}

// catalog returns the endpoints of all services in the other regions and then in the region.
func (t *Tx) catalog() []any {
	out := []any{}
	for _, service := range core.ServiceTypes() {
		if slices.Contains(t.Options.Without, service) {
			continue
		}
		endpoints := []any{}
		add := func(region, url string) {
			for _, kind := range []string{"public", "internal", "admin"} {
				endpoints = append(endpoints, map[string]any{"id": core.FixedID(service + kind + region), "interface": kind,
					"region": region, "region_id": region, "url": url})
			}
		}
		for _, other := range t.Options.OtherRegions {
			add(other, t.Call.Base+"/other-region/"+other+"/"+service)
		}
		add(t.Options.Region, t.endpoint(t.Call.Base, service))
		out = append(out, map[string]any{"id": core.FixedID(service), "type": service, "name": serviceNames()[service],
			"endpoints": endpoints})
	}
	return out
}

// serviceNames returns the names in the catalog, by type.
func serviceNames() map[string]string {
	return map[string]string{
		core.ServiceIdentity: "keystone", core.ServiceCompute: "nova", core.ServiceNetwork: "neutron",
		core.ServiceLoadBalancer: "octavia", core.ServiceKeyManager: "barbican", core.ServiceImage: "glance",
	}
}

// endpoint returns a service's URL in the catalog.
func (t *Tx) endpoint(base, service string) string {
	root := base + "/" + service
	versioned := service == core.ServiceCompute || service == core.ServiceIdentity
	if t.Options.VersionedCatalogue || versioned && !t.Options.UnversionedCatalogue {
		return root + "/" + core.VersionOf(service)
	}
	return root
}

// NewProject creates a project.
func (t *Tx) NewProject(name string) *Project {
	p := &Project{Object: t.NewObject(t.NewHex()), Name: name}
	t.Projects[p.ID] = p
	return p
}

// NewUser creates a user with roles in a project.
func (t *Tx) NewUser(name string, p *Project, roles ...string) *User {
	u := &User{Object: t.NewObject(t.NewHex()), Name: name, Password: t.NewHex()[:16],
		roles: map[string][]string{}}
	if p != nil {
		u.roles[p.ID] = roles
	}
	t.users[u.ID] = u
	return u
}

// Reference refers to an object by ID, or by name and domain.
type Reference struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Domain *Reference `json:"domain"`
}

// UserNamed returns the user with a name.
func (t *Tx) UserNamed(name string) *User {
	return t.findUser(&Reference{Name: name, Domain: &Reference{ID: DomainID}})
}

// findUser returns the user that a reference names, nil if there is none.
func (t *Tx) findUser(r *Reference) *User {
	for _, u := range t.users {
		if r.matches(u.ID, u.Name) {
			return u
		}
	}
	return nil
}

// ProjectNamed returns the project with a name.
func (t *Tx) ProjectNamed(name string) *Project {
	return t.findProject(&Reference{Name: name, Domain: &Reference{ID: DomainID}})
}

// findProject returns the project that a reference names, nil if there is none.
func (t *Tx) findProject(r *Reference) *Project {
	for _, p := range t.Projects {
		if r.matches(p.ID, p.Name) {
			return p
		}
	}
	return nil
}

// matches reports whether a reference names the object of the default domain with an ID and a name.
func (r *Reference) matches(id, name string) bool {
	if r.ID != "" {
		return r.ID == id
	}
	return r.Name == name && r.Name != "" && isDefault(r.Domain)
}

func isDefault(d *Reference) bool {
	return d != nil && (d.ID == DomainID || d.ID == "" && d.Name == DomainName)
}
