package keystone

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

type authRequest struct {
	Identity struct {
		Methods  []string `json:"methods"`
		Password struct {
			User struct {
				Reference
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
			User   *Reference `json:"user"`
		} `json:"application_credential"`
	} `json:"identity"`
	Scope json.RawMessage `json:"scope"`
}

type authScope struct {
	Project *Reference `json:"project"`
	Domain  *Reference `json:"domain"`
	Trust   *Reference `json:"OS-TRUST:trust"`
	System  any        `json:"system"`
}

func (t *Tx) issueToken() (core.Response, error) {
	in, err := decodeAuth(t.Call.Body)
	if err != nil {
		return core.Response{}, err
	}
	k, err := t.authenticate(in)
	if err == nil {
		err = t.scope(k, in)
	}
	if err != nil {
		return core.Response{}, err
	}
	t.deleteExpiredTokens()
	k.ID, k.issued = "gAAAAA"+t.NewHex()+t.NewHex(), t.Now
	t.Tokens[k.ID] = k
	return core.Response{Status: http.StatusCreated, Body: map[string]any{"token": t.tokenView(k)},
		Header: http.Header{"X-Subject-Token": {k.ID}}}, nil
}

func decodeAuth(body []byte) (authRequest, error) {
	var envelope struct {
		Auth *authRequest `json:"auth"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil || envelope.Auth == nil ||
		len(envelope.Auth.Identity.Methods) == 0 {
		return authRequest{}, core.Refuse(http.StatusBadRequest, "", "Expecting to find auth in request body. "+
			"The server could not comply with the request since it is either malformed or otherwise incorrect. The client is "+
			"assumed to be in error.")
	}
	return *envelope.Auth, nil
}

// authenticate identifies the caller. Every requested method must succeed.
func (t *Tx) authenticate(in authRequest) (*token, error) {
	k := &token{Object: t.NewObject(""), methods: slices.Clone(in.Identity.Methods),
		expires: t.Now.Add(t.Options.TokenLife)}
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
			return nil, core.ErrUnauthorized()
		}
	}
	return k, nil
}

func (t *Tx) byPassword(k *token, in authRequest) bool {
	u := t.findUser(&in.Identity.Password.User.Reference)
	if u == nil || u.Password != in.Identity.Password.User.Password {
		return false
	}
	k.User = u.ID
	return true
}

// byToken exchanges a token for another, which expires with the first.
func (t *Tx) byToken(k *token, id string) bool {
	old := t.validToken(id)
	if old == nil {
		return false
	}
	k.User, k.expires, k.Project = old.User, old.expires, old.Project
	for _, m := range old.methods {
		if !slices.Contains(k.methods, m) {
			k.methods = append(k.methods, m)
		}
	}
	return true
}

func (t *Tx) byAppCred(k *token, in authRequest) bool {
	want := in.Identity.AppCred
	for _, a := range t.AppCreds {
		matches := a.ID == want.ID
		if want.ID == "" && want.Name != "" && want.User != nil {
			u := t.findUser(want.User)
			matches = u != nil && u.ID == a.User && a.Name == want.Name
		}
		if matches && a.Secret == want.Secret {
			k.User, k.Project, k.appCred = a.User, a.Project, a.ID
			return true
		}
	}
	return false
}

// scope sets the project and roles of a token.
func (t *Tx) scope(k *token, in authRequest) error {
	if k.appCred != "" {
		if len(in.Scope) > 0 && string(in.Scope) != "null" {
			return core.ErrUnauthorized() // An application credential has its scope.
		}
		k.roles = t.users[k.User].roles[k.Project]
		return nil
	}
	var want authScope
	if len(in.Scope) > 0 {
		// A scope may also be the word "unscoped" instead of an object.
		_ = json.Unmarshal(in.Scope, &want)
		k.Project = ""
	}
	switch {
	case want.Trust != nil:
		trust := t.Trusts[want.Trust.ID]
		if trust == nil || trust.Trustee != k.User {
			return core.Refuse(http.StatusForbidden, "", "You are not authorized to perform the requested action.")
		}
		k.trust, k.User, k.Project = trust.ID, trust.Trustor, trust.Project
	case want.Project != nil:
		p := t.findProject(want.Project)
		if p == nil {
			return core.ErrUnauthorized()
		}
		k.Project = p.ID
	}
	if k.Project == "" {
		return nil
	}
	k.roles = t.users[k.User].roles[k.Project]
	if len(k.roles) == 0 {
		return core.ErrUnauthorized()
	}
	k.Admin = slices.Contains(k.roles, "admin")
	return nil
}

// Identify finds the caller by the token of a call.
func (t *Tx) Identify(k *core.Call) error {
	token := t.validToken(k.Header.Get("X-Auth-Token"))
	if token == nil {
		return core.ErrUnauthorized()
	}
	if a := t.AppCreds[token.appCred]; a != nil && !a.allow(k) {
		// The middleware of the services rejects the token, with the response for a token that has expired.
		return core.ErrUnauthorized()
	}
	k.Caller = &token.Caller
	if t.TokensEndAfter > 0 {
		if t.TokensEndAfter--; t.TokensEndAfter == 0 {
			clear(t.Tokens)
		}
	}
	return nil
}
