package core

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
)

// Collection is a kind of resources in one kind of scopes, with the verbs that all kinds have.
type Collection[T Entity] struct {
	State *State
	// Name is the one in paths, Service the one in IDs of methods if it differs: healthChecks and regionHealthChecks.
	Name, Service string
	// Scope is global, regions or zones; "" is for regions and zones themselves.
	Scope string
	// Insert checks a new resource beyond the tags of its fields, sets the fields that the cloud chooses, and takes what
	// it needs. Nil is for resources that the API cannot create.
	Insert func(*Call, T) error
	// Change checks a patch of a resource, beyond the tags of its fields. Nil is for resources that cannot be patched.
	Change func(k *Call, old, changed T) error
	// Update is set if such a resource can be replaced too.
	Update bool
	// NeedsFingerprint is set if a change requires the fingerprint; otherwise one that is sent must be the present one.
	NeedsFingerprint bool
	// InUse returns the user of a resource that cannot be deleted, beside those that refer to it.
	InUse func(T) (user string)
	// Removed gives back what a resource took.
	Removed func(T)
	// Quota is the metric that limits the number of resources, per region or project.
	Quota string
	// GetQuery are parameters of get.
	GetQuery []string
	// Show returns the view of a resource in responses; it updates fields that show other resources.
	Show func(T) T
	// Aggregated is the kind of aggregated lists, "<kind>AggregatedList" by default; "-" is for none.
	Aggregated string
}

// kind is the type in responses: compute#healthCheck.
func (c Collection[T]) kind() string { return "compute#" + singular(c.Name) }

func (c Collection[T]) service() string { return cmp.Or(c.Service, c.Name) }

// new returns an empty resource.
func (c Collection[T]) new() T {
	return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) //nolint:forcetypeassert // T is a pointer
}

// SplitPath returns the parts of a path.
func SplitPath(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

func (c Collection[T]) path(more ...string) []string {
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
func (c Collection[T]) one(more ...string) []string {
	return c.path(append([]string{"{" + c.param() + "}"}, more...)...)
}

// param is the name of the variable in the path of a resource.
func (c Collection[T]) param() string { return singular(c.Name) }

// refOf returns the resource in the path of a call.
func (c Collection[T]) refOf(k *Call) Ref {
	scope := k.Scope()
	if c.Scope == "" {
		scope = ""
	}
	return Ref{k.Project(), scope, c.Name, k.Params[c.param()]}
}

// Verb returns a further method of a collection: it changes a resource, after its request has been checked.
func Verb[T Entity, In any](c Collection[T], verb, permission string, do func(*Call, T, *In) (any, error)) Method {
	return Method{ID: verb, Verb: http.MethodPost, Path: c.one(verb), Mutating: true, Permission: permission,
		Do: func(k *Call) (any, error) {
			x, err := c.find(k)
			if err != nil {
				return nil, err
			}
			in := new(In)
			if err := decode(k.Body, in); err != nil {
				return nil, err
			}
			if err := c.State.check(k, in); err != nil {
				return nil, err
			}
			return do(k, x, in)
		}}
}

// Reader returns a further method of a collection that changes nothing.
func Reader[T Entity, In any](c Collection[T], verb, permission string, do func(*Call, T, *In) (any, error)) Method {
	m := Verb(c, verb, permission, do)
	m.Mutating = false
	return m
}

// check completes a request and resolves its links.
func (s *State) check(k *Call, request any) error {
	if err := complete(request); err != nil {
		return err
	}
	return s.resolveLinks(k, request)
}

func (c Collection[T]) get(k *Call) (any, error) {
	x, err := c.find(k)
	if err != nil {
		return nil, err
	}
	return c.show(x), nil
}

func (c Collection[T]) show(x T) T {
	if c.Show == nil {
		return x
	}
	return c.Show(x)
}

func (c Collection[T]) insert(k *Call) (any, error) {
	x := c.new()
	if err := decode(k.Body, x); err != nil {
		return nil, err
	}
	return c.Create(k, x)
}

// labeled are resources with labels.
type labeled interface{ refreshLabels() }

// Create checks and adds a resource in the scope of the call, and starts its operation.
func (c Collection[T]) Create(k *Call, x T) (*Operation, error) {
	state, m := c.State, x.Base()
	*m = Meta{Name: m.Name, Description: m.Description}
	r := Ref{k.Project(), k.Scope(), c.Name, m.Name}
	k.Target, m.ref = r, r
	clearOutputs(k, x)
	if err := complete(x); err != nil {
		return nil, err
	}
	if state.find(r) != nil {
		return nil, ErrExists(r)
	}
	if err := c.checkQuota(r); err != nil {
		return nil, err
	}
	if err := state.resolveLinks(k, x); err != nil {
		return nil, err
	}
	if err := c.Insert(k, x); err != nil {
		return nil, err
	}
	if l, ok := any(x).(labeled); ok {
		l.refreshLabels()
	}
	SetFingerprint(x)
	state.Add(x, c.kind(), r)
	m.creating = true
	return state.start(k, change{target: x, ref: r, verb: verbInsert, fail: func() { c.remove(x) }}), nil
}

// clearOutputs removes what clients cannot set from a new resource, and sets its place.
func clearOutputs(k *Call, x any) {
	_ = eachField("", reflect.ValueOf(x), func(_ string, tag reflect.StructTag, field reflect.Value) error {
		if tag.Get("set") == "output" {
			field.SetZero()
		}
		return nil
	})
	setPlace(x, k.Target)
}

func (c Collection[T]) checkQuota(r Ref) error {
	limit, ok := c.State.Options.Quotas[c.Quota]
	if !ok {
		return nil
	}
	scope, where := "", "globally"
	if region := r.Region(); region != "" {
		scope, where = r.Scope, "in region "+region
	}
	if c.State.count(r.Project, scope, r.Collection) >= limit {
		return ErrQuota(c.Quota, limit, where)
	}
	return nil
}

func (c Collection[T]) remove(x T) {
	c.State.Remove(x)
	if c.Removed != nil {
		c.Removed(x)
	}
}

func (c Collection[T]) delete(k *Call) (any, error) {
	x, err := c.find(k)
	if err != nil {
		return nil, err
	}
	return c.Destroy(k, x)
}

// Destroy deletes a resource to which no other one refers.
func (c Collection[T]) Destroy(k *Call, x T) (*Operation, error) {
	if c.InUse != nil {
		if user := c.InUse(x); user != "" {
			return nil, ErrInUse(x.Ref(), ParseURL(user))
		}
	}
	if user := c.State.UserOf(x.Ref()); user != nil {
		return nil, ErrInUse(x.Ref(), user.Ref())
	}
	return c.State.Start(k, x, verbDelete, false, func() { c.remove(x) })
}

// find returns the resource in the path of a call.
func (c Collection[T]) find(k *Call) (T, error) {
	k.Target = c.refOf(k)
	if c.State.isDisrupted(k.Target.Scope) {
		var none T
		return none, ErrUnavailable("The resource '" + k.Target.String() + "'")
	}
	return Get[T](c.State, k.Target)
}

// patch changes the fields in the body, as a JSON merge patch.
func (c Collection[T]) patch(k *Call) (any, error) {
	return c.change(k, verbPatch, func(old T) ([]byte, error) {
		if err := decode(k.Body, c.new()); err != nil {
			return nil, err
		}
		document, err := asDocument(old)
		if err != nil {
			return nil, err
		}
		var overlay map[string]any
		if err := json.Unmarshal(k.Body, &overlay); err != nil {
			return nil, badPayload("%s", err)
		}
		merge(document.(map[string]any), overlay) //nolint:forcetypeassert // resources are objects
		return json.Marshal(document)
	})
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
func (c Collection[T]) update(k *Call) (any, error) {
	return c.change(k, verbUpdate, func(T) ([]byte, error) { return k.Body, nil })
}

// change replaces the content of a resource by a document.
func (c Collection[T]) change(k *Call, verb string, document func(old T) ([]byte, error)) (any, error) {
	old, err := c.find(k)
	if err != nil {
		return nil, err
	}
	raw, err := document(old)
	if err != nil {
		return nil, err
	}
	changed := c.new()
	if err := decode(raw, changed); err != nil {
		return nil, err
	}
	if m := changed.Base(); m.Name != "" && m.Name != old.Base().Name {
		return nil, Invalid("resource.name", m.Name, "The name cannot be changed.")
	}
	if sent := k.has("fingerprint"); c.NeedsFingerprint && !sent ||
		sent && *textField(changed, "Fingerprint") != *textField(old, "Fingerprint") {
		return nil, ErrFingerprint()
	}
	takeOver(old, changed)
	keepOutputs(old, changed)
	if err := c.State.check(k, changed); err != nil {
		return nil, err
	}
	if err := checkFixed(old, changed); err != nil {
		return nil, err
	}
	if err := c.Change(k, old, changed); err != nil {
		return nil, err
	}
	SetFingerprint(changed)
	return c.State.Start(k, old, verb, false, func() {
		takeOver(old, changed)
		reflect.ValueOf(old).Elem().Set(reflect.ValueOf(changed).Elem())
	})
}

// takeOver gives a changed resource what identifies the old one.
func takeOver(old, changed Entity) {
	description := changed.Base().Description
	*changed.Base() = *old.Base()
	changed.Base().Description = description
}
