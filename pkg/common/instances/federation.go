package instances

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Federation implements cloudprovider.InstancesV2 over independent parts of one cloud, such as several vCenters,
// any of which may have the instance of a node. A part that fails or does not respond affects only its own nodes
// and nodes that no other part has: an instance does not exist only if every part has reported so.
// It is safe for concurrent use.
type Federation struct {
	instancesV2

	members []Member

	mu sync.Mutex
	// slow are the members that did not answer within answerGrace, and have not answered since, by index.
	slow map[int]bool
}

// answerGrace is how long a lookup that has found an instance waits for the other members, which may have one of the
// same ID. It waits once for a member that does not answer.
const answerGrace = time.Second / 2

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
	f := &Federation{members: members, slow: map[int]bool{}}
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
	var found []candidate
	for _, m := range f.members {
		if in, ok := m.cached(r, m.policy.oldestRead(age)); ok && r.proves(in) {
			m.observeCache("hit")
			found = append(found, candidate{m.Name, in})
		}
	}
	if len(found) > 0 {
		return choose(found)
	}
	return f.lookupAll(ctx, r, age, bulk)
}

// candidate is an instance of a member that the reference identifies.
type candidate struct {
	member string
	in     Instance
}

// choose returns the only instance, or the only running one: a copy of a machine is usually stopped. Which one of
// several is that of the node is unknown.
func choose(found []candidate) (Instance, bool, error) {
	if len(found) == 1 {
		return found[0].in, true, nil
	}
	running := slices.DeleteFunc(slices.Clone(found), func(c candidate) bool { return c.in.State != Running })
	if len(running) == 1 {
		return running[0].in, true, nil
	}
	var names []string
	for _, c := range found {
		names = append(names, c.member)
	}
	return Instance{}, false, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "Find",
		Err: fmt.Errorf("instance %s exists in each of %s: one is a copy of the other; change the ID of all but one, or "+
			"stop them", found[0].in.ID, strings.Join(names, ", "))}
}

// proves reports whether the reference identifies only this instance: by ID or system UUID. Names are not unique.
func (r ref) proves(in Instance) bool {
	return r.id != "" || slices.Contains(in.SystemUUIDs, r.node.SystemUUID)
}

// lookupResult is the result of a lookup in one member.
type lookupResult struct {
	member int
	in     Instance
	found  bool
	err    error
}

// lookupAll looks an instance up in all members at the same time. Once one has it, the others have answerGrace to
// answer.
func (f *Federation) lookupAll(ctx context.Context, r ref, age time.Duration, bulk bool) (Instance, bool, error) {
	lookupCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan lookupResult, len(f.members))
	for i, m := range f.members {
		go func() {
			var result lookupResult
			if err := panics.Do(func() error { result = m.lookupResult(lookupCtx, r, age, bulk); return nil }); err != nil {
				result.err = err
			}
			result.member = i
			if lookupCtx.Err() == nil {
				f.setSlow(i, false)
			}
			results <- result
		}()
	}
	return f.chooseResult(ctx, r, results)
}

// chooseResult waits for the results of all members, at most answerGrace for those after the first instance, and
// returns the instance of the reference.
func (f *Federation) chooseResult(ctx context.Context, r ref, results <-chan lookupResult) (Instance, bool, error) {
	var all lookups
	var grace <-chan time.Time
	stop := func() bool { return true }
	defer func() { stop() }()
	waiting := map[int]bool{}
	for i := range f.members {
		waiting[i] = true
	}
	for len(waiting) > 0 && (len(all.proven) == 0 || f.anyFast(waiting)) {
		var result lookupResult
		select {
		case result = <-results:
		case <-grace:
			for i := range waiting {
				f.setSlow(i, true)
			}
			continue
		case <-ctx.Done():
			return Instance{}, false, ctx.Err()
		}
		delete(waiting, result.member)
		all.add(r, f.members[result.member].Name, result)
		if len(all.proven) > 0 && grace == nil {
			timer := f.members[0].options.Clock.NewTimer(answerGrace)
			grace, stop = timer.C(), timer.Stop
		}
	}
	if len(all.proven) > 0 {
		return choose(all.proven)
	}
	return chooseNamed(r, all.named, all.errs)
}

// lookups are the results of a lookup in several members.
type lookups struct {
	proven []candidate
	named  []Instance
	errs   []error
}

func (l *lookups) add(r ref, member string, result lookupResult) {
	switch {
	case result.err != nil:
		l.errs = append(l.errs, result.err)
	case result.found && r.proves(result.in):
		l.proven = append(l.proven, candidate{member, result.in})
	case result.found:
		l.named = append(l.named, result.in)
	}
}

// setSlow records whether a member answers.
func (f *Federation) setSlow(member int, slow bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow[member] = slow
}

// anyFast reports whether one of the members is expected to answer soon.
func (f *Federation) anyFast(members map[int]bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range members {
		if !f.slow[i] {
			return true
		}
	}
	return false
}

// chooseNamed returns the only instance with the name of the Node, if all members have answered.
func chooseNamed(r ref, found []Instance, errs []error) (Instance, bool, error) {
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
