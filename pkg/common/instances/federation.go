package instances

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Federation implements cloudprovider.InstancesV2 over independent parts of one cloud, such as several vCenters,
// any of which may have the instance of a node. A part that fails or does not respond affects only its own nodes
// and nodes that no other part has: an instance does not exist only if every part has reported so.
// It is safe for concurrent use.
type Federation struct {
	instancesV2

	members []Member
}

// Member is one part of a federation. All members have the same scheme of provider IDs.
type Member struct {
	// Name is for messages.
	Name string
	*Instances
}

var (
	_ cloudprovider.InstancesV2 = (*Federation)(nil)
	_ provider.NodeOwner        = (*Federation)(nil)
)

// NewFederation returns a federation of at least one member.
func NewFederation(members ...Member) *Federation {
	f := &Federation{members: members}
	f.instancesV2 = instancesV2{f}
	return f
}

// OwnsNode implements provider.NodeOwner.
func (f *Federation) OwnsNode(node *v1.Node) provider.Ownership { return f.members[0].OwnsNode(node) }

// lookupNode implements finder.
func (f *Federation) lookupNode(ctx context.Context, node *v1.Node, age time.Duration,
	bulk bool) (Instance, bool, error) {
	r, err := f.members[0].refOf(node)
	if err != nil {
		return Instance{}, false, err
	}
	for _, m := range f.members {
		if in, ok := m.cached(r, m.policy.oldestRead(age)); ok && r.proves(in) {
			m.observeCache("hit")
			return in, true, nil
		}
	}
	return f.lookupAll(ctx, r, age, bulk)
}

// proves reports whether the reference identifies only this instance: by ID or system UUID. Names are not unique.
func (r ref) proves(in Instance) bool {
	return r.id != "" || slices.Contains(in.SystemUUIDs, r.node.SystemUUID)
}

// lookupResult is the result of a lookup in one member.
type lookupResult struct {
	in    Instance
	found bool
	err   error
}

// lookupAll looks an instance up in all members at the same time. The first that has it ends the other lookups.
func (f *Federation) lookupAll(ctx context.Context, r ref, age time.Duration, bulk bool) (Instance, bool, error) {
	lookups, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan lookupResult, len(f.members))
	for _, m := range f.members {
		go func() { results <- m.lookupResult(lookups, r, age, bulk) }()
	}
	var found []Instance
	var errs []error
	for range f.members {
		var result lookupResult
		select {
		case result = <-results:
		case <-ctx.Done():
			return Instance{}, false, ctx.Err()
		}
		switch {
		case result.err != nil:
			errs = append(errs, result.err)
		case result.found && r.proves(result.in):
			return result.in, true, nil
		case result.found:
			found = append(found, result.in)
		}
	}
	switch {
	case len(errs) > 0:
		return Instance{}, false, joinErrors(errs)
	case len(found) == 1:
		return found[0], true, nil
	case len(found) > 1:
		return Instance{}, false, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "Find",
			Err: fmt.Errorf("node %s matches several instances (%s and %s): start its kubelet with --provider-id",
				r.node.Name, found[0].ProviderID, found[1].ProviderID)}
	}
	return Instance{}, false, nil
}

// joinErrors returns the errors of members as one, with the class of the first.
func joinErrors(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return &cloudapi.Error{Class: cloudapi.ClassOf(errs[0]), Operation: "Find", Err: errors.Join(errs...)}
}

// lookupResult looks an instance up in one member. A list serves all nodes, so it does not end with the caller.
func (m Member) lookupResult(ctx context.Context, r ref, age time.Duration, bulk bool) lookupResult {
	_, listDue := m.policy.needsList()
	if bulk || listDue {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTimeout)
		defer cancel()
		if err := m.refresh(detached, m.options.Clock.Now().Add(-age)); err != nil {
			return lookupResult{err: fmt.Errorf("%s: %w", m.Name, err)}
		}
	}
	in, found, err := m.lookup(ctx, r, age, bulk || listDue)
	if err != nil {
		err = fmt.Errorf("%s: %w", m.Name, err)
	}
	return lookupResult{in: in, found: found, err: err}
}
