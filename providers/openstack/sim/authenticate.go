package sim

import (
	"encoding/json"
	"net/http"
	"slices"
)

// reference names something in a domain by ID, or by name.
type reference struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Domain *reference `json:"domain"`
}

type authRequest struct {
	Identity struct {
		Methods  []string `json:"methods"`
		Password struct {
			User struct {
				reference
				Password string `json:"password"`
			} `json:"user"`
		} `json:"password"`
		Token struct {
			ID string `json:"id"`
		} `json:"token"`
		AppCred struct {
			ID     string     `json:"id"`
			Name   string     `json:"name"`
			Secret string     `json:"secret"`
			User   *reference `json:"user"`
		} `json:"application_credential"`
	} `json:"identity"`
	Scope json.RawMessage `json:"scope"`
}

type authScope struct {
	Project *reference `json:"project"`
	Domain  *reference `json:"domain"`
	Trust   *reference `json:"OS-TRUST:trust"`
	System  any        `json:"system"`
}

func decodeAuth(body []byte) (authRequest, error) {
	var envelope struct {
		Auth *authRequest `json:"auth"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil || envelope.Auth == nil ||
		len(envelope.Auth.Identity.Methods) == 0 {
		return authRequest{}, refuse(http.StatusBadRequest, "", "Expecting to find auth in request body. "+
			"The server could not comply with the request since it is either malformed or otherwise incorrect. The client is "+
			"assumed to be in error.")
	}
	return *envelope.Auth, nil
}

// authenticate identifies the caller. Every requested method must succeed.
func (t *tx) authenticate(in authRequest) (*token, error) {
	k := &token{object: object{seq: t.next()}, methods: slices.Clone(in.Identity.Methods),
		expires: t.now.Add(t.o.TokenLife)}
	for _, method := range in.Identity.Methods {
		ok := false
		switch method {
		case "password":
			ok = t.byPassword(k, in)
		case "token":
			ok = t.byToken(k, in.Identity.Token.ID)
		case "application_credential":
			ok = t.byAppCred(k, in)
		}
		if !ok {
			return nil, errUnauthorized()
		}
	}
	return k, nil
}

func (t *tx) byPassword(k *token, in authRequest) bool {
	u := t.userOf(&in.Identity.Password.User.reference)
	if u == nil || u.password != in.Identity.Password.User.Password {
		return false
	}
	k.user = u.ID
	return true
}

// byToken exchanges a token for another, which ends when the first does.
func (t *tx) byToken(k *token, id string) bool {
	old := t.valid(id)
	if old == nil {
		return false
	}
	k.user, k.expires, k.project = old.user, old.expires, old.project
	for _, m := range old.methods {
		if !slices.Contains(k.methods, m) {
			k.methods = append(k.methods, m)
		}
	}
	return true
}

func (t *tx) byAppCred(k *token, in authRequest) bool {
	want := in.Identity.AppCred
	for _, a := range t.appCreds {
		found := a.ID == want.ID
		if want.ID == "" && want.Name != "" && want.User != nil {
			u := t.userOf(want.User)
			found = u != nil && u.ID == a.user && a.name == want.Name
		}
		if found && a.secret == want.Secret {
			k.user, k.project, k.appCred = a.user, a.project, a.ID
			return true
		}
	}
	return false
}

func (t *tx) userOf(r *reference) *user {
	for _, u := range t.users {
		if u.ID == r.ID && r.ID != "" || r.ID == "" && u.name == r.Name && r.Name != "" && isDefault(r.Domain) {
			return u
		}
	}
	return nil
}

func (t *tx) projectOf(r *reference) *project {
	for _, p := range t.projects {
		if p.ID == r.ID && r.ID != "" || r.ID == "" && p.name == r.Name && r.Name != "" && isDefault(r.Domain) {
			return p
		}
	}
	return nil
}

func isDefault(d *reference) bool {
	return d != nil && (d.ID == domainID || d.ID == "" && d.Name == domainName)
}

// scope gives a token its project and roles.
func (t *tx) scope(k *token, in authRequest) error {
	if k.appCred != "" {
		if len(in.Scope) > 0 && string(in.Scope) != "null" {
			return errUnauthorized() // An application credential has its scope.
		}
		k.roles = t.users[k.user].roles[k.project]
		return nil
	}
	var want authScope
	if len(in.Scope) > 0 {
		// A scope may also be the word "unscoped", which is no object.
		_ = json.Unmarshal(in.Scope, &want)
		k.project = ""
	}
	switch {
	case want.Trust != nil:
		x := t.trusts[want.Trust.ID]
		if x == nil || x.trustee != k.user {
			return refuse(http.StatusForbidden, "", "You are not authorized to perform the requested action.")
		}
		k.trust, k.user, k.project = x.ID, x.trustor, x.project
	case want.Project != nil:
		p := t.projectOf(want.Project)
		if p == nil {
			return errUnauthorized()
		}
		k.project = p.ID
	}
	if k.project == "" {
		return nil
	}
	k.roles = t.users[k.user].roles[k.project]
	if len(k.roles) == 0 {
		return errUnauthorized()
	}
	k.admin = slices.Contains(k.roles, "admin")
	return nil
}
