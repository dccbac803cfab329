package loadbalancer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/running"
)

// snapshotAge is the max age for a list to count as fresh. It spans a burst, such as a restart.
const snapshotAge = 30 * time.Second

// errDeleted is the error about an object that was deleted between the plan and its change.
var errDeleted = errors.New("the object was deleted in the meantime")

// calls are the calls of a collection; nil for those that are not made.
type calls struct{ list, get, insert, update, remove *api.Call }

// base is what all collections have.
type base struct {
	api     api.API
	state   *snapshot.Store
	running *running.Changes
}

// collection is the snapshot of the objects of one collection, which all Services share.
type collection[T any, P api.Object[T]] struct {
	base

	calls calls
	table *snapshot.Table[T]
	// writing serializes the writes of each object: most kinds have no fingerprint.
	writing locks.KeyedMutex
}

func newCollection[T any, P api.Object[T]](b base, age time.Duration, c calls) *collection[T, P] {
	out := &collection[T, P]{base: b, calls: c}
	out.table = snapshot.NewTable(b.state, snapshot.Kind[T]{
		ID: func(object T) string { return nameOf(object) }, MaxAge: age, List: out.list,
	})
	return out
}

// nameOf returns the name of an object.
func nameOf[T any](object T) string {
	return any(object).(interface{ Common() api.Resource }).Common().Name
}

func (c *collection[T, P]) list(ctx context.Context) ([]T, error) {
	documents, err := c.api.List(ctx, c.calls.list, api.Target{}, nil)
	if err != nil {
		return nil, err
	}
	objects, err := api.ParseAll[T, P](documents)
	if err != nil {
		return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: c.calls.list.String(), Err: err}
	}
	return objects, nil
}

// refresh reads the list unless it is fresh; with reread set, in any case.
func (c *collection[T, P]) refresh(ctx context.Context, reread bool) error {
	if reread {
		return c.table.Reread(ctx)
	}
	return c.table.Refresh(ctx)
}

// find returns the object of a name; nil without one.
func (c *collection[T, P]) find(name string) *T {
	if object, ok := c.table.Get(name); ok {
		return &object
	}
	return nil
}

// create creates an object. One that exists counts as created if it is the same: an earlier creation lost its response,
// or another Service created what they share.
func (c *collection[T, P]) create(ctx context.Context, want T, same func(*T) bool) error {
	name := nameOf(want)
	unlock, err := c.writing.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	err = c.api.Change(ctx, c.calls.insert, api.Target{}, want)
	if cloudapi.Is(err, cloudapi.AlreadyExists) {
		if listErr := c.table.Reread(ctx); listErr != nil {
			return fmt.Errorf("%w; reading it failed: %w", err, listErr)
		}
		if have := c.find(name); have != nil && same(have) {
			return nil
		}
		return err
	}
	if err != nil {
		c.table.Invalidate() // The outcome may be unknown.
		return err
	}
	c.table.Create(name, want)
	return nil
}

// read reads one object.
func (c *collection[T, P]) read(ctx context.Context, name string) (T, error) {
	object, err := c.current(ctx, name)
	if err == nil {
		c.table.Put(name, object)
	}
	return object, err
}

func (c *collection[T, P]) current(ctx context.Context, name string) (T, error) {
	var raw rawObject
	var none T
	if err := c.api.Get(ctx, c.calls.get, api.Target{Name: name}, &raw); err != nil {
		return none, err
	}
	object, err := api.Parse[T, P](raw)
	if err != nil {
		return none, &cloudapi.Error{Class: cloudapi.Unknown, Operation: c.calls.get.String(), Err: err}
	}
	return object, nil
}

// rawObject is a document that is parsed later.
type rawObject []byte

// UnmarshalJSON implements json.Unmarshaler.
func (r *rawObject) UnmarshalJSON(document []byte) error {
	*r = append((*r)[:0], document...)
	return nil
}

// replace changes an object as it is now, and writes the whole object.
func (c *collection[T, P]) replace(ctx context.Context, name string, change func(*T)) error {
	unlock, err := c.writing.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	object, err := c.current(ctx, name)
	if err == nil {
		change(&object)
		var document []byte
		if document, err = api.Encode[T, P](object); err == nil {
			err = c.update(ctx, name, json.RawMessage(document))
		}
	}
	return c.changed(name, err, change)
}

// patch changes fields of an object in place.
func (c *collection[T, P]) patch(ctx context.Context, name string, body any, change func(*T)) error {
	unlock, err := c.writing.Lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	return c.changed(name, c.update(ctx, name, body), change)
}

// update makes a change in place.
func (c *collection[T, P]) update(ctx context.Context, name string, body any) error {
	return c.running.Do(c.calls.update.Collection+"/"+name, func() error {
		return c.api.Change(ctx, c.calls.update, api.Target{Name: name}, body)
	})
}

// changed records the outcome of a change in the snapshot.
func (c *collection[T, P]) changed(name string, err error, change func(*T)) error {
	if err != nil {
		c.table.Invalidate()
		return err
	}
	c.table.Update(name, change)
	return nil
}

// remove deletes an object. It reports whether others still refer to it, which is no error.
func (c *collection[T, P]) remove(ctx context.Context, name string) (inUse bool, err error) {
	unlock, err := c.writing.Lock(ctx, name)
	if err != nil {
		return false, err
	}
	defer unlock()
	err = cloudapi.IgnoreNotFound(c.api.Change(ctx, c.calls.remove, api.Target{Name: name}, nil))
	switch {
	case api.InUse(err):
		return true, nil
	case err != nil:
		c.table.Invalidate()
		return false, err
	}
	c.table.Delete(name)
	return false, nil
}
