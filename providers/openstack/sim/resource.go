package sim

import "slices"

// resource is one kind of object with the usual reads: a list, and one object by its ID.
type resource[T entity] struct {
	// name is the singular in names of operations, such as FloatingIP; key that of JSON, such as floatingip.
	name, key string
	// path is that of the list; paths of single objects end in their ID.
	path string
	// list returns the objects that the caller may see, in the order in which the service lists them.
	list func(*tx) ([]T, error)
	// get returns the object that the call names.
	get func(*tx) (T, error)
	// filters are those of the list besides filters by field.
	filters map[string]filter[T]
	// refresh, where set, updates the fields of an object that show related objects.
	refresh func(*tx, T)
}

// operations returns the reads, followed by further operations on the resource.
func (r resource[T]) operations(further ...operation) []operation {
	list := func(t *tx) (any, error) {
		objects, err := r.list(t)
		if err != nil {
			return nil, err
		}
		r.refreshAll(t, objects...)
		return listing[T]{plural: r.key + "s", filters: r.filters}.answer(t, objects)
	}
	show := func(t *tx) (any, error) {
		x, err := r.get(t)
		if err != nil {
			return nil, err
		}
		r.refreshAll(t, x)
		return show(t, r.key, x), nil
	}
	return append([]operation{read("List"+r.name+"s", r.path, list), read("Show"+r.name, r.path+"/{id}", show)},
		further...)
}

func (r resource[T]) refreshAll(t *tx, objects ...T) {
	if r.refresh != nil {
		for _, x := range objects {
			r.refresh(t, x)
		}
	}
}

// neutronResource returns a resource of Neutron: objects of the caller's project, sorted by ID.
func neutronResource[T neutronEntity](
	name, key, path string, all func(*tx) map[string]T, get func(*tx, string) (T, error),
) resource[T] {
	return resource[T]{
		name: name, key: key, path: path,
		list: func(t *tx) ([]T, error) {
			return only(byID(all(t)), func(x T) bool { return t.call.may(x.common().Project) }), nil
		},
		get: func(t *tx) (T, error) { return get(t, t.call.params["id"]) },
	}
}

// lookup returns an object of Neutron by its ID; objects of other projects are not visible.
func lookup[T neutronEntity](t *tx, all map[string]T, id string, missing func(id string) error) (T, error) {
	x, ok := all[id]
	if !ok || !t.call.may(x.common().Project) {
		var none T
		return none, missing(id)
	}
	return x, nil
}

// child is a pointer to a listener, pool, member or health monitor of a load balancer.
type child[T, S any] interface {
	*T
	octaviaEntity
	octaviaChild
	// apply sets the fields that a request gives.
	apply(settings S)
	// validate checks the fields against each other and against related objects.
	validate(*tx) error
}

type octaviaChild interface {
	octaviaEntity
	// parent is the load balancer, and lineage the objects from it down to the child that must not be pending for a
	// change.
	parent() *balancer
	lineage() []octaviaEntity
	// affected are the objects that a change makes pending besides the load balancer.
	affected() []octaviaEntity
}

// settings are the fields of a child that an update may give.
type settings interface{ check() error }

// octaviaResource returns a resource of Octavia: objects of the caller's project in the order of their creation.
func octaviaResource[T octaviaEntity](
	name, key string, all func(*tx) map[string]T, get func(*tx, string) (T, error),
) resource[T] {
	return resource[T]{
		name: name, key: key, path: "lbaas/" + key + "s",
		list: func(t *tx) ([]T, error) {
			return only(bySeq(all(t)), func(x T) bool { return t.call.may(x.octavia().Project) }), nil
		},
		get: func(t *tx) (T, error) { return get(t, t.call.params["id"]) },
	}
}

// octaviaLookup returns an object of Octavia by its ID.
func octaviaLookup[T octaviaEntity](t *tx, all map[string]T, kind, id string) (T, error) {
	x, ok := all[id]
	var none T
	switch {
	case !ok:
		return none, errMissing(kind, id)
	case !t.call.may(x.octavia().Project):
		return none, errPolicy()
	}
	return x, nil
}

// childOperations returns reads, create, update and delete of a kind of child.
func childOperations[T any, S settings, P child[T, S]](r resource[P], createChild func(*tx) (any, error)) []operation {
	return r.operations(
		create("Create"+r.name, r.path, createChild),
		change("Update"+r.name, r.path+"/{id}", func(t *tx) (any, error) { return updateChild[T, S](t, r) }),
		remove("Delete"+r.name, r.path+"/{id}", func(t *tx) error {
			x, err := r.get(t)
			if err == nil {
				err = t.mutable(x.parent(), x.lineage()...)
			}
			if err != nil {
				return err
			}
			parts := x.affected()
			x.octavia().Provisioning = pendingDelete
			t.startChange(x.parent(), pendingUpdate, parts)
			return nil
		}),
	)
}

// updateChild changes a child: the object stays as it is until everything has been checked.
func updateChild[T any, S settings, P child[T, S]](t *tx, r resource[P]) (any, error) {
	x, err := r.get(t)
	if err != nil {
		return nil, err
	}
	in, err := decode[S](t, r.key)
	if err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	changed := *x
	P(&changed).apply(in)
	if err := P(&changed).validate(t); err != nil {
		return nil, err
	}
	if err := t.mutable(x.parent(), x.lineage()...); err != nil {
		return nil, err
	}
	*x = changed
	t.startChange(x.parent(), pendingUpdate, x.affected())
	r.refreshAll(t, x)
	return map[string]any{r.key: x}, nil
}

func (l *listener) parent() *balancer         { return l.balancer }
func (l *listener) lineage() []octaviaEntity  { return []octaviaEntity{l} }
func (l *listener) affected() []octaviaEntity { return []octaviaEntity{l} }

func (p *pool) parent() *balancer        { return p.balancer }
func (p *pool) lineage() []octaviaEntity { return []octaviaEntity{p} }

// affected returns the pool and its listeners.
func (p *pool) affected() []octaviaEntity {
	out := []octaviaEntity{p}
	for _, l := range p.referrers() {
		out = append(out, l)
	}
	return out
}

func (m *member) parent() *balancer         { return m.pool.balancer }
func (m *member) lineage() []octaviaEntity  { return []octaviaEntity{m.pool, m} }
func (m *member) affected() []octaviaEntity { return append(m.pool.affected(), m) }

func (m *monitor) parent() *balancer         { return m.pool.balancer }
func (m *monitor) lineage() []octaviaEntity  { return []octaviaEntity{m.pool, m} }
func (m *monitor) affected() []octaviaEntity { return append(m.pool.affected(), m) }

// contains reports whether a list has an element.
func contains(list []string, x string) bool { return slices.Contains(list, x) }
