package neutron

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// newResource returns a resource of Neutron: objects of the caller's project, sorted by ID.
func newResource[T entity](
	name, key, path string, all func(*Tx) map[string]T, get func(*Tx, string) (T, error),
) core.Resource[*Tx, T] {
	return core.Resource[*Tx, T]{
		Name: name, Key: key, Path: path,
		List: func(t *Tx) ([]T, error) {
			return core.Only(core.ByID(all(t)), func(x T) bool { return t.Call.May(x.common().Project) }), nil
		},
		Get: func(t *Tx) (T, error) { return get(t, t.Call.Params["id"]) },
	}
}

// update builds the operation that changes an object; In has the fields of a request.
func update[T entity, In any](
	r core.Resource[*Tx, T], apply func(*Tx, T, In) error,
) core.Operation[*Tx] {
	return core.Change("Update"+r.Name, r.Path+"/{id}", func(t *Tx) (any, error) { return change(t, r, apply) })
}

func change[T entity, In any](t *Tx, r core.Resource[*Tx, T], apply func(*Tx, T, In) error) (any, error) {
	x, err := r.Get(t)
	if err != nil {
		return nil, err
	}
	in, err := core.Decode[In](t.Base(), r.Key)
	if err != nil {
		return nil, err
	}
	if err := t.checkRevision(x.common()); err != nil {
		return nil, err
	}
	if err := apply(t, x, in); err != nil {
		return nil, err
	}
	return map[string]any{r.Key: x}, nil
}

// remove builds the operation that deletes an object.
func remove[T entity](r core.Resource[*Tx, T], do func(*Tx, T) error) core.Operation[*Tx] {
	return core.Remove("Delete"+r.Name, r.Path+"/{id}", func(t *Tx) error {
		x, err := r.Get(t)
		if err != nil {
			return err
		}
		if err := t.checkRevision(x.common()); err != nil {
			return err
		}
		return do(t, x)
	})
}

// checkRevision rejects a change with the header If-Match for another revision of an object.
func (t *Tx) checkRevision(n *Base) error {
	want := t.Call.Header.Get("If-Match")
	if want == "" || !t.HasExtension("revision-if-match") {
		return nil
	}
	number, ok := strings.CutPrefix(want, "revision_number=")
	if !ok {
		return badRequest("HTTPBadRequest", "The 'If-Match' header must be of the form 'revision_number=X'")
	}
	if current := strconv.Itoa(n.Revision); number != current {
		return core.Refuse(http.StatusPreconditionFailed, "RevisionNumberConstraintFailed",
			"Constrained to %s, but current revision is %s", number, current)
	}
	return nil
}

// lookup returns an object by its ID, or an error if the caller does not see one.
func lookup[T entity](t *Tx, all map[string]T, id string, missing func(id string) error) (T, error) {
	x, ok := all[id]
	if !ok || !t.Call.May(x.common().Project) {
		var none T
		return none, missing(id)
	}
	return x, nil
}

// checkQuota returns an error if n more objects of a kind exceed the quota of the caller's project.
func checkQuota[T entity](t *Tx, name string, all map[string]T, n int) error {
	for _, x := range all {
		if x.common().Project == t.Call.Project() {
			n++
		}
	}
	if limit := t.Options.Quotas[name]; limit >= 0 && n > limit && !t.Call.Admin() {
		return conflict("OverQuota", "Quota exceeded for resources: ['%s'].", name)
	}
	return nil
}

func (n *Base) common() *Base { return n }

// entity is a pointer to a struct that embeds Base.
type entity interface {
	core.Entity
	common() *Base
}

// TimeFormat is the time format of Neutron and Nova.
const TimeFormat = "2006-01-02T15:04:05Z"

// newBase returns the common fields of a new object.
func (t *Tx) newBase(project, name string) Base {
	now := t.Now.UTC().Format(TimeFormat)
	return Base{Object: t.NewObject(t.NewID()), Name: name, Project: project, Tenant: project,
		Created: now, Updated: now, Revision: 1, Tags: []string{}}
}

// MarkUpdated updates the revision and the time of the last change.
func (t *Tx) MarkUpdated(n *Base) {
	n.Updated = t.Now.UTC().Format(TimeFormat)
	n.Revision++
}
