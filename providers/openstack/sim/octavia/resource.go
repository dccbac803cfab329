package octavia

import (
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// child is a pointer to a listener, pool, member or health monitor of a load balancer.
type child[T, S any] interface {
	*T
	entity
	octaviaChild
	// apply sets the fields that a request has.
	apply(settings S)
	// validate checks the fields against each other and against related objects.
	validate(*Tx) error
}

type octaviaChild interface {
	entity
	// parent is the load balancer; lineage are the objects from it down to the child, which must not be pending for a
	// change.
	parent() *balancer
	lineage() []entity
	// affected are the objects that a change makes pending besides the load balancer.
	affected() []entity
}

// settings are the fields of a request to update a child.
type settings interface{ check() error }

// newResource returns a resource of Octavia: objects of the caller's project in the order of their creation.
func newResource[T entity](
	name, key string, all func(*Tx) map[string]T, get func(*Tx, string) (T, error),
) core.Resource[*Tx, T] {
	return core.Resource[*Tx, T]{
		Name: name, Key: key, Path: "lbaas/" + key + "s",
		List: func(t *Tx) ([]T, error) {
			return core.Only(core.BySeq(all(t)), func(x T) bool { return t.Call.May(x.common().Project) }), nil
		},
		Get: func(t *Tx) (T, error) { return get(t, t.Call.Params["id"]) },
	}
}

// childOperations returns reads, create, update and delete of a kind of child.
func childOperations[T any, S settings, P child[T, S]](
	r core.Resource[*Tx, P], createChild func(*Tx) (any, error),
) []core.Operation[*Tx] {
	return r.Operations(
		core.Create("Create"+r.Name, r.Path, createChild),
		core.Change("Update"+r.Name, r.Path+"/{id}", func(t *Tx) (any, error) { return updateChild[T, S](t, r) }),
		core.Remove("Delete"+r.Name, r.Path+"/{id}", func(t *Tx) error {
			x, err := r.Get(t)
			if err == nil {
				err = t.checkMutable(x.parent(), x.lineage()...)
			}
			if err != nil {
				return err
			}
			parts := x.affected()
			x.common().Provisioning = pendingDelete
			t.startChange(x.parent(), pendingUpdate, parts)
			return nil
		}),
	)
}

// updateChild changes a child after all checks: on an error the object stays unchanged.
func updateChild[T any, S settings, P child[T, S]](t *Tx, r core.Resource[*Tx, P]) (any, error) {
	x, err := r.Get(t)
	if err != nil {
		return nil, err
	}
	in, err := core.Decode[S](t.Base(), r.Key)
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
	if err := t.checkMutable(x.parent(), x.lineage()...); err != nil {
		return nil, err
	}
	*x = changed
	t.startChange(x.parent(), pendingUpdate, x.affected())
	r.RefreshAll(t, x)
	return map[string]any{r.Key: x}, nil
}

func (l *listener) parent() *balancer  { return l.balancer }
func (l *listener) lineage() []entity  { return []entity{l} }
func (l *listener) affected() []entity { return []entity{l} }

func (p *pool) parent() *balancer { return p.balancer }
func (p *pool) lineage() []entity { return []entity{p} }

// affected returns the pool and its listeners.
func (p *pool) affected() []entity {
	out := []entity{p}
	for _, l := range p.referrers() {
		out = append(out, l)
	}
	return out
}

func (m *member) parent() *balancer  { return m.pool.balancer }
func (m *member) lineage() []entity  { return []entity{m.pool, m} }
func (m *member) affected() []entity { return append(m.pool.affected(), m) }

func (m *monitor) parent() *balancer  { return m.pool.balancer }
func (m *monitor) lineage() []entity  { return []entity{m.pool, m} }
func (m *monitor) affected() []entity { return append(m.pool.affected(), m) }
