package core

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

var validUUID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Collection is a kind of resources in one kind of scopes, with the verbs that all kinds have.
type Collection[S Store, T Entity] struct {
	// Service is the name in IDs of methods, Name the one in paths: regionHealthChecks and healthChecks.
	Service, Name string
	// Kind is the type in responses without its prefix: healthCheck. ListKind is "<Kind>List" by default.
	Kind, ListKind string
	// Scope is global, regions or zones; "" is for regions and zones themselves.
	Scope string
	// New returns an empty resource.
	New func() T
	// Insert checks a new resource, sets the fields that the cloud chooses, and takes what it needs. Nil is for resources
	// that the API cannot create.
	Insert func(S, *Call, T) error
	// Change checks the change of a resource. Nil is for resources that cannot be changed as a whole.
	Change func(s S, k *Call, old, changed T) error
	// Patch and Update are whether the methods exist.
	Patch, Update bool
	// Removed gives back what a resource took.
	Removed func(S, T)
	// Quota is the metric that limits the number of resources, per region or project.
	Quota string
	// GetQuery are parameters of get.
	GetQuery []string
	// Show returns the view of a resource in responses; it updates fields that show other resources.
	Show func(S, T) T
	// ListKindAggregated is "<Kind>AggregatedList" by default; "-" is for no aggregated list.
	ListKindAggregated string
}

// SplitPath returns the parts of a path.
func SplitPath(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

func (c Collection[S, T]) path(more ...string) []string {
	var parts []string
	switch c.Scope {
	case "":
	case ScopeGlobal:
		parts = []string{ScopeGlobal}
	default:
		parts = []string{c.Scope, "{" + singular(c.Scope) + "}"}
	}
	return append(append(parts, c.Name), more...)
}

// one returns the path of one resource.
func (c Collection[S, T]) one(more ...string) []string {
	return c.path(append([]string{"{" + c.param() + "}"}, more...)...)
}

// param is the name of the variable in the path of a resource.
func (c Collection[S, T]) param() string { return singular(c.Name) }

// RefOf returns the resource in the path of a call.
func (c Collection[S, T]) RefOf(k *Call) Ref {
	scope := k.Scope()
	if c.Scope == "" {
		scope = ""
	}
	return Ref{k.Project(), scope, c.Name, k.Params[c.param()]}
}

// Methods returns the methods of the collection, followed by further ones.
func (c Collection[S, T]) Methods(further ...Method[S]) []Method[S] {
	out := []Method[S]{
		{ID: "get", Verb: http.MethodGet, Path: c.one(), Query: c.GetQuery, Permission: "get", Do: c.get},
		{ID: "list", Verb: http.MethodGet, Path: c.path(), Query: listParameters, Permission: "list", Do: c.list},
	}
	if c.ListKindAggregated != "-" && c.Scope != "" {
		out = append(out, Method[S]{ID: "aggregatedList", Verb: http.MethodGet, Path: []string{"aggregated", c.Name},
			Query: aggregatedParameters, Permission: "list", Do: c.aggregated})
	}
	request := []string{"requestId"}
	if c.Insert != nil {
		out = append(out,
			Method[S]{ID: verbInsert, Verb: http.MethodPost, Path: c.path(), Mutating: true, Query: request,
				Permission: "create", Do: c.insert},
			Method[S]{ID: verbDelete, Verb: http.MethodDelete, Path: c.one(), Mutating: true, Query: request,
				Permission: "delete", Do: c.delete})
	}
	if c.Patch {
		out = append(out, Method[S]{ID: verbPatch, Verb: http.MethodPatch, Path: c.one(), Mutating: true, Query: request,
			Permission: "update", Do: c.patch})
	}
	if c.Update {
		out = append(out, Method[S]{ID: verbUpdate, Verb: http.MethodPut, Path: c.one(), Mutating: true, Query: request,
			Permission: "update", Do: c.update})
	}
	for _, m := range further {
		m.Path = c.one(m.ID)
		if m.Mutating {
			m.Query = append(m.Query, request...)
		}
		if m.Verb == "" {
			m.Verb = http.MethodPost
		}
		out = append(out, m)
	}
	for i := range out {
		out[i].ID = c.Service + "." + out[i].ID
		if !strings.Contains(out[i].Permission, ".") {
			out[i].Permission = c.Service + "." + out[i].Permission
		}
	}
	return out
}

func (c Collection[S, T]) get(s S, k *Call) (any, error) {
	r := c.RefOf(k)
	if s.Core().isDisrupted(r.Scope) {
		return nil, ErrUnavailable("The resource '" + r.String() + "'")
	}
	x, err := Get[T](s.Core(), r)
	if err != nil {
		return nil, err
	}
	return c.show(s, x), nil
}

func (c Collection[S, T]) show(s S, x T) T {
	if c.Show == nil {
		return x
	}
	return c.Show(s, x)
}

// in returns the visible resources of a project, in the scope if it is set.
func (c Collection[S, T]) in(s S, project string, keep func(scope string) bool) []T {
	var out []T
	for _, x := range All[T](s.Core(), c.Name) {
		if r := x.Ref(); r.Project == project && keep(r.Scope) && x.Base().IsVisible() {
			out = append(out, c.show(s, x))
		}
	}
	return out
}

func (c Collection[S, T]) list(s S, k *Call) (any, error) {
	scope := c.RefOf(k).Scope
	if s.Core().isDisrupted(scope) {
		return nil, ErrUnavailable("Scope '" + scope + "'")
	}
	all := c.in(s, k.Project(), func(other string) bool { return scope == other })
	kind := c.ListKind
	if kind == "" {
		kind = c.Kind + "List"
	}
	return List(k, "compute#"+kind, Ref{k.Project(), scope, c.Name, ""}.String(), all)
}

func (c Collection[S, T]) aggregated(s S, k *Call) (any, error) {
	var scopes []string
	for _, region := range s.Core().Options.Regions() {
		scopes = append(scopes, "regions/"+region)
	}
	if c.Scope == "zones" {
		scopes = nil
		for _, zone := range s.Core().Options.AllZones() {
			scopes = append(scopes, "zones/"+zone)
		}
	} else if c.Name != "subnetworks" && c.Name != "targetPools" {
		scopes = append([]string{ScopeGlobal}, scopes...)
	}
	kind := c.ListKindAggregated
	if kind == "" {
		kind = c.Kind + "AggregatedList"
	}
	all := c.in(s, k.Project(), func(scope string) bool { return slices.Contains(scopes, scope) })
	return aggregate(s.Core(), k, "compute#"+kind, c.Name, scopes, all)
}

func (c Collection[S, T]) insert(s S, k *Call) (any, error) {
	x := c.New()
	if err := Decode(k, x); err != nil {
		return nil, err
	}
	return c.Create(s, k, x)
}

// Create checks and adds a resource in the scope of the call, and starts its operation.
func (c Collection[S, T]) Create(s S, k *Call, x T) (*Operation, error) {
	state, m := s.Core(), x.Base()
	*m = Meta{Name: m.Name, Description: m.Description}
	r := Ref{k.Project(), k.Scope(), c.Name, m.Name}
	k.Target, m.ref = r, r
	if err := CheckName("resource.name", m.Name); err != nil {
		return nil, err
	}
	if state.find(r) != nil {
		return nil, ErrExists(r)
	}
	if err := c.checkQuota(state, r); err != nil {
		return nil, err
	}
	if err := c.Insert(s, k, x); err != nil {
		return nil, err
	}
	state.Add(x, "compute#"+c.Kind, r)
	m.creating = true
	return state.start(k, change{target: x, ref: r, verb: verbInsert, fail: func() { c.remove(s, x) }}), nil
}

func (c Collection[S, T]) checkQuota(s *State, r Ref) error {
	limit, ok := s.Options.Quotas[c.Quota]
	if !ok {
		return nil
	}
	scope, where := "", "globally"
	if region := r.Region(); region != "" {
		scope, where = r.Scope, "in region "+region
	}
	if s.count(r.Project, scope, r.Collection) >= limit {
		return ErrQuota(c.Quota, limit, where)
	}
	return nil
}

func (c Collection[S, T]) remove(s S, x T) {
	s.Core().Remove(x)
	if c.Removed != nil {
		c.Removed(s, x)
	}
}

func (c Collection[S, T]) delete(s S, k *Call) (any, error) {
	x, err := c.Find(s, k)
	if err != nil {
		return nil, err
	}
	return c.Destroy(s, k, x)
}

// Destroy deletes a resource to which no other one refers.
func (c Collection[S, T]) Destroy(s S, k *Call, x T) (*Operation, error) {
	if user := s.Core().UserOf(x.Ref()); user != nil {
		return nil, ErrInUse(x.Ref(), user.Ref())
	}
	return s.Core().Start(k, x, verbDelete, false, func() { c.remove(s, x) })
}

// Find returns the resource in the path of a call that changes it.
func (c Collection[S, T]) Find(s S, k *Call) (T, error) {
	k.Target = c.RefOf(k)
	if s.Core().isDisrupted(k.Target.Scope) {
		var none T
		return none, ErrUnavailable("The resource '" + k.Target.String() + "'")
	}
	return Get[T](s.Core(), k.Target)
}

// patch changes the fields in the body, as a JSON merge patch.
func (c Collection[S, T]) patch(s S, k *Call) (any, error) {
	old, err := c.Find(s, k)
	if err != nil {
		return nil, err
	}
	if err := Decode(k, c.New()); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	var document, overlay map[string]any
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(k.Body, &overlay); err != nil {
		return nil, badPayload("%s", err)
	}
	merge(document, overlay)
	if raw, err = json.Marshal(document); err != nil {
		return nil, err
	}
	changed := c.New()
	if err := decode(raw, changed); err != nil {
		return nil, err
	}
	return c.change(s, k, verbPatch, old, changed)
}

// merge merges an overlay into a document, as RFC 7396 says.
func merge(document, overlay map[string]any) {
	for name, value := range overlay {
		nested, isObject := value.(map[string]any)
		old, wasObject := document[name].(map[string]any)
		switch {
		case value == nil:
			delete(document, name)
		case isObject && wasObject:
			merge(old, nested)
		default:
			document[name] = value
		}
	}
}

// update replaces all fields.
func (c Collection[S, T]) update(s S, k *Call) (any, error) {
	old, err := c.Find(s, k)
	if err != nil {
		return nil, err
	}
	changed := c.New()
	if err := Decode(k, changed); err != nil {
		return nil, err
	}
	return c.change(s, k, verbUpdate, old, changed)
}

func (c Collection[S, T]) change(s S, k *Call, verb string, old, changed T) (any, error) {
	m := changed.Base()
	if m.Name != "" && m.Name != old.Base().Name {
		return nil, Invalid("resource.name", m.Name, "The name cannot be changed.")
	}
	description := m.Description
	*m = *old.Base()
	m.Description = description
	if err := c.Change(s, k, old, changed); err != nil {
		return nil, err
	}
	return s.Core().Start(k, old, verb, false, func() { c.replace(old, changed) })
}

// replace copies the content of a changed resource.
func (c Collection[S, T]) replace(old, changed T) {
	m := *old.Base()
	m.Description = changed.Base().Description
	*changed.Base() = m
	assign(old, changed)
}
