// Package absent remembers the instances of Nodes that do not exist in the cloud. A managed instance group deletes an
// instance and creates it again under its name, while its Node stays.
package absent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

const (
	// freshAge is how long an instance counts as absent after it was read. A machine takes about that long until its
	// kubelet is ready, which starts a sync of Services.
	freshAge = 30 * time.Second
	// awaitAge is how long an instance is expected back. One that is absent for longer may never have existed: kubelets
	// choose their provider IDs.
	awaitAge = 10 * time.Minute
	// forgetAge is the time without a read after which an instance is forgotten.
	forgetAge = time.Hour
	// maxGets is the number of instances up to which single reads are cheaper than the list of all.
	maxGets = 4
	// retryAge is the least time until a load balancer is synced again for an instance that is expected back.
	retryAge = time.Minute
)

// State is what is known of an absent instance.
type State struct {
	// Fresh is set while it is not read again.
	Fresh bool
	// Awaited is set while it is expected back.
	Awaited bool
}

// Instances are the absent instances, by ZONE/NAME. It is safe for concurrent use.
type Instances struct {
	api   api.API
	clock clock.PassiveClock
	// reading is locked while instances are read again.
	reading locks.Mutex

	mu   sync.Mutex
	byID map[string]entry
}

// entry has the times at which an instance was found absent first and last. Unexpected is set for one that does not
// come back, because its zone does not exist.
type entry struct {
	first, last time.Time
	unexpected  bool
}

// New returns Instances without any.
func New(client api.API, c clock.PassiveClock) *Instances {
	return &Instances{api: client, clock: c, byID: map[string]entry{}}
}

// Check reports whether the cloud refused a call for an instance because it does not exist, and remembers it.
func (i *Instances) Check(ctx context.Context, id string, refusal error) bool {
	if !cloudapi.Is(refusal, cloudapi.NotFound, cloudapi.Invalid) {
		return false
	}
	return i.read(ctx, id)
}

// Verify reads those of some instances again that were absent some time ago. One that cannot be read stays absent. The
// error is that of the context.
func (i *Instances) Verify(ctx context.Context, ids []string) error {
	if len(i.outdated(ids)) == 0 {
		return nil
	}
	unlock, err := i.reading.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	outdated := i.outdated(ids) // Another Service may have read some since.
	if len(outdated) > maxGets {
		i.list(ctx)
	} else {
		for _, id := range outdated {
			i.read(ctx, id)
		}
	}
	for _, id := range outdated {
		i.postpone(id)
	}
	return ctx.Err()
}

// outdated returns those of some instances that were absent some time ago.
func (i *Instances) outdated(ids []string) []string {
	states := i.Now()
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		state, known := states[id]
		return !known || state.Fresh
	})
}

// list forgets the instances that a list of all has.
func (i *Instances) list(ctx context.Context) {
	documents, err := i.api.List(ctx, api.InstancesList, api.Target{}, nil)
	if _, err := api.Unreachable(err); err != nil {
		return
	}
	found, err := api.ParseAll[api.Instance](documents)
	if err != nil {
		return
	}
	ids := make([]string, len(found))
	for n, instance := range found {
		ids[n] = names.InstanceID(api.Last(instance.Zone), instance.Name)
	}
	i.Forget(ids)
}

// postpone delays the next read of an instance that is still absent.
func (i *Instances) postpone(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e, ok := i.byID[id]; ok {
		e.last = i.clock.Now()
		i.byID[id] = e
	}
}

// read reads an instance. It reports whether it does not exist, and remembers that.
func (i *Instances) read(ctx context.Context, id string) bool {
	zone, name := names.SplitInstanceID(id)
	err := i.api.Get(ctx, api.InstancesGet, api.Target{Zone: zone, Name: name}, &api.Instance{})
	if err == nil {
		i.Forget([]string{id})
	}
	if !cloudapi.Is(err, cloudapi.NotFound, cloudapi.Invalid) {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.clock.Now()
	e, known := i.byID[id]
	if !known {
		e.first = now
	}
	e.last, e.unexpected = now, e.unexpected || cloudapi.Is(err, cloudapi.Invalid)
	i.byID[id] = e
	return true
}

// Abandon expects an instance back no longer.
func (i *Instances) Abandon(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e, ok := i.byID[id]; ok {
		e.unexpected = true
		i.byID[id] = e
	}
}

// Forget forgets instances that exist.
func (i *Instances) Forget(ids []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, id := range ids {
		delete(i.byID, id)
	}
}

// Now returns the absent instances.
func (i *Instances) Now() map[string]State {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := map[string]State{}
	for id, e := range i.byID {
		age := i.clock.Since(e.last)
		if age >= forgetAge {
			delete(i.byID, id)
			continue
		}
		awaited := !e.unexpected && i.clock.Since(e.first) < awaitAge
		out[id] = State{Fresh: age < freshAge, Awaited: awaited}
	}
	return out
}

// Possible returns instances without those that are known to be absent.
func (i *Instances) Possible(ctx context.Context, ids []string) []string {
	if i.Verify(ctx, ids) != nil {
		return ids // The context has ended.
	}
	now := i.Now()
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return now[id].Fresh })
}

// Await returns the error about the instances of a list that are expected back; nil without any. It requests the next
// attempt, later each time.
func (i *Instances) Await(ids []string) error {
	states := i.Now()
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, id := range ids {
		if states[id].Awaited {
			return &cloudapi.Error{Class: cloudapi.Conflict, Operation: api.InstancesGet.String(),
				RetryAfter: max(retryAge, i.clock.Since(i.byID[id].first)),
				Err:        fmt.Errorf("the instance %s does not exist: it receives traffic when it is back", id)}
		}
	}
	return nil
}
