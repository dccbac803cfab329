package instances

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// ref references one instance: by ID if that is known, else by node name.
type ref struct{ id, name string }

// ofNode returns the node's instance, by provider ID if it has one, else by name. With bulk, many nodes are
// looked up, so that a list is worth its calls.
func (i *Instances) ofNode(ctx context.Context, node *v1.Node, age time.Duration, bulk bool) (Instance, bool, error) {
	r := ref{name: node.Name}
	if node.Spec.ProviderID != "" {
		id, err := i.scheme.Parse(node.Spec.ProviderID)
		if err != nil {
			return Instance{}, false, fmt.Errorf("node %s: %w", node.Name, err)
		}
		r = ref{id: id}
	} else if i.options.IDOfName != nil {
		if id, ok := i.options.IDOfName(node.Name); ok {
			r = ref{id: id}
		}
	}
	return i.lookup(ctx, r, age, bulk)
}

// lookup returns an instance from the snapshot if it is no older than age, from a list if one is due, and
// else from a read of that instance.
func (i *Instances) lookup(ctx context.Context, r ref, age time.Duration, bulk bool) (Instance, bool, error) {
	oldest := i.options.Clock.Now().Add(-age)
	if in, ok := i.cached(r, oldest); ok {
		i.observeCache("hit")
		return in, true, nil
	}
	i.observeCache("miss")
	if bulk {
		if in, ok, err := i.lookupByList(ctx, r, oldest); ok || err != nil {
			return in, ok, err
		}
	}
	if r.id != "" {
		return i.get.Do(ctx, r.id)
	}
	return i.find.Do(ctx, r.name)
}

// cached returns an instance that was read at oldest or later. A name that several instances have is not
// resolved: Source.Find decides.
func (i *Instances) cached(r ref, oldest time.Time) (Instance, bool) {
	if r.id == "" {
		ids := i.known.LookupIDs(r.name)
		if len(ids) != 1 {
			return Instance{}, false
		}
		r.id = ids[0]
	}
	in, exists, known := i.known.GetSince(r.id, oldest)
	return in, exists && known
}

// lookupByList returns an instance from a list, if one is due or if single reads are rate limited.
func (i *Instances) lookupByList(ctx context.Context, r ref, oldest time.Time) (Instance, bool, error) {
	since := i.store.Begin()
	if err := i.refresh(ctx, oldest); err != nil {
		return Instance{}, false, err
	}
	if in, ok := i.cached(r, oldest); ok {
		return in, true, nil
	}
	if i.policy.allowSingleRead(since.At()) {
		return Instance{}, false, nil
	}
	if err := i.awaitList(ctx, since); err != nil {
		return Instance{}, false, err
	}
	in, ok := i.cached(r, oldest)
	return in, ok, nil
}

// getAll reads instances by ID.
func (i *Instances) getAll(ctx context.Context, ids []string) (map[string]Instance, error) {
	r := i.store.Begin()
	list, err := i.source.Get(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]Instance, len(list))
	for _, in := range list {
		found[in.ID] = in
		i.known.Merge(r, in.ID, in)
	}
	for _, id := range ids {
		if _, ok := found[id]; !ok {
			i.known.MergeMissing(r, id)
		}
	}
	i.policy.countReads(len(found))
	return found, nil
}

// findAll reads instances by node name.
func (i *Instances) findAll(ctx context.Context, names []string) (map[string]Instance, error) {
	r := i.store.Begin()
	list, err := i.source.Find(ctx, names)
	if err != nil {
		return nil, err
	}
	found := make(map[string]Instance, len(list))
	for _, in := range list {
		found[in.NodeName] = in
		i.known.Merge(r, in.ID, in)
	}
	for _, name := range names {
		if _, ok := found[name]; ok {
			continue
		}
		for _, id := range i.known.LookupIDs(name) {
			i.known.MergeMissing(r, id)
		}
	}
	i.policy.countReads(len(found))
	return found, nil
}
