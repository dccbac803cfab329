package instances

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// ref references one instance: by ID if that is known, else by its Node.
type ref struct {
	id   string
	node NodeRef
}

// lookupNode implements finder: by provider ID if the node has one, else by system UUID and name. If so many instances
// were read singly that a list is cheaper, it lists without bulk too.
func (i *Instances) lookupNode(ctx context.Context, node *v1.Node, age time.Duration,
	bulk bool) (Instance, bool, error) {
	r, err := i.refOf(node)
	if err != nil {
		return Instance{}, false, err
	}
	_, listDue := i.policy.needsList()
	return i.lookup(ctx, r, age, bulk || listDue)
}

// refOf returns the reference of a node's instance.
func (i *Instances) refOf(node *v1.Node) (ref, error) {
	if node.Spec.ProviderID != "" {
		id, err := i.scheme.Parse(node.Spec.ProviderID)
		if err != nil {
			return ref{}, fmt.Errorf("node %s: %w", node.Name, err)
		}
		return ref{id: id}, nil
	}
	if i.options.IDOfName != nil {
		if id, ok := i.options.IDOfName(node.Name); ok {
			return ref{id: id}, nil
		}
	}
	return ref{node: RefOf(node)}, nil
}

// lookup returns an instance from the snapshot if it is no older than age, from a list if one is due, and
// else from a read of that instance.
func (i *Instances) lookup(ctx context.Context, r ref, age time.Duration, bulk bool) (Instance, bool, error) {
	oldest := i.policy.oldestRead(age)
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
	return i.read(ctx, r)
}

// read reads an instance authoritatively, in one call with others.
func (i *Instances) read(ctx context.Context, r ref) (in Instance, found bool, err error) {
	if r.id != "" {
		in, found, err = i.get.Do(ctx, r.id)
	} else {
		in, found, err = i.find.Do(ctx, r.node)
	}
	if err == nil && in.Uncertain != nil {
		return Instance{}, false, in.Uncertain
	}
	return in, found, err
}

// cached returns an instance that was read at oldest or later.
func (i *Instances) cached(r ref, oldest time.Time) (Instance, bool) {
	if r.id == "" {
		ids := i.cachedIDs(r.node)
		if len(ids) != 1 {
			return Instance{}, false
		}
		r.id = ids[0]
	}
	in, exists, known := i.known.GetSince(r.id, oldest)
	return in, exists && known && in.Uncertain == nil
}

// cachedIDs returns the IDs of the instances that a Node matches. It returns none for a Node that matches by name
// an instance with another system UUID: Source.Find decides about those, and about several.
func (i *Instances) cachedIDs(node NodeRef) []string {
	if node.SystemUUID == "" {
		return i.known.LookupIDs(node.Name)
	}
	if ids := i.known.LookupIDs(systemUUIDKey(node.SystemUUID)); len(ids) > 0 {
		return ids
	}
	ids := i.known.LookupIDs(node.Name)
	return slices.DeleteFunc(ids, func(id string) bool {
		in, _ := i.known.Get(id)
		return len(in.SystemUUIDs) > 0
	})
}

// systemUUIDKey is the index key of a system UUID. No node name contains a colon.
func systemUUIDKey(uuid string) string { return "system-uuid:" + uuid }

// indexKeys are the keys under which an instance is found without its ID.
func indexKeys(in Instance) []string {
	keys := []string{in.NodeName}
	for _, uuid := range in.SystemUUIDs {
		keys = append(keys, systemUUIDKey(uuid))
	}
	return keys
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
		if in.Uncertain == nil {
			i.known.Merge(r, in.ID, in)
		}
	}
	requested := 0
	for _, id := range ids {
		if _, ok := found[id]; ok {
			requested++
		} else {
			i.known.MergeMissing(r, id)
		}
	}
	// A Source may return others too, which no caller had to read singly.
	i.policy.countReads(requested)
	return found, nil
}

// findAll reads the instances of Nodes.
func (i *Instances) findAll(ctx context.Context, nodes []NodeRef) (map[NodeRef]Instance, error) {
	r := i.store.Begin()
	list, err := i.source.Find(ctx, nodes)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]Instance, len(list))
	for _, in := range list {
		byName[in.NodeName] = in
		if in.Uncertain == nil {
			i.known.Merge(r, in.ID, in)
		}
	}
	found := make(map[NodeRef]Instance, len(list))
	for _, node := range nodes {
		if in, ok := byName[node.Name]; ok {
			found[node] = in
			continue
		}
		for _, id := range i.cachedIDs(node) {
			i.known.MergeMissing(r, id)
		}
	}
	i.policy.countReads(len(found))
	return found, nil
}

func (i *Instances) observeCache(result string) {
	shared().cache.WithLabelValues(i.options.Provider, "instances", result).Inc()
}
