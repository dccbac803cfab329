package loadbalancer

import (
	"context"
	"errors"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// addressHandle is the address of a forwarding rule that a plan creates.
const addressHandle plan.Handle = "address"

// pendingAddress stands for an address that a plan does not know yet.
const pendingAddress = "the address of the load balancer"

// writer makes the changes of one Service, and records them in the snapshot.
type writer struct {
	*store
	key         lbcommon.Key
	clusterID   string
	environment api.Environment
	// mayFail is Observed.MayFail.
	mayFail bool
}

// link returns the URL of an object.
func (w writer) link(call *api.Call, at api.Target) string {
	return w.api.Link(w.environment, call, at)
}

// removeShared deletes an object of all Services, unless one refers to it or is about to. One that the cloud refuses to
// delete has a user that the snapshot does not have.
func (w writer) removeShared(ctx context.Context, link string, isUsed func() bool,
	remove func(context.Context) (bool, error)) error {
	unlock, err := w.sharing.Lock(ctx, link)
	if err != nil {
		return err
	}
	defer unlock()
	if w.uses.IsHeld(link) || isUsed() {
		return nil
	}
	refused, err := remove(ctx)
	if refused {
		w.uses.Keep(api.Path(link))
	}
	return err
}

// holdShared keeps an object of all Services from being deleted until release is called. Before, create creates it if
// it was deleted since the plan.
func (w writer) holdShared(ctx context.Context, link string,
	create func(context.Context) error) (release func(), err error) {
	unlock, err := w.sharing.Lock(ctx, link)
	if err != nil {
		return nil, err
	}
	defer unlock()
	release = w.uses.Hold(link)
	if err := create(ctx); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// releaseAll returns the function that calls all of a list.
func releaseAll(list []func()) func() {
	return func() {
		for _, release := range list {
			release()
		}
	}
}

// isAbsent reports whether a call for an instance was refused because it does not exist: it keeps no other one, and no
// forwarding rule, from being added. Instances that a call has added exist.
func (w writer) isAbsent(ctx context.Context, ids []string, err error) bool {
	if err == nil {
		w.absent.Forget(ids)
	}
	return len(ids) == 1 && w.absent.Check(ctx, ids[0], err)
}

// membersChanged returns the error about a pool or group whose members were changed. Of wanted ones that do not exist,
// those that are expected back are an error, so that the Service is synced again.
func (w writer) membersChanged(name string, wanted []string, err error) error {
	if w.mayFail {
		err = errors.Join(err, w.absent.Await(wanted))
	}
	if err != nil {
		w.uses.Keep(failedMembers(name))
	}
	return err
}

// failedMembers is the entry in Observed.Kept of a pool or zone whose members could not be changed.
func failedMembers(name string) string { return "members/" + name }

// instanceList returns the request for instances.
func instanceList(ids []string, link func(id string) string) api.InstanceList {
	list := api.InstanceList{}
	for _, id := range ids {
		list.Instances = append(list.Instances, api.InstanceReference{Instance: link(id)})
	}
	return list
}

// instanceLink returns the URL of an instance.
func (w writer) instanceLink(id string) string {
	zone, name := names.SplitInstanceID(id)
	return w.link(api.InstancesGet, api.Target{Zone: zone, Name: name})
}
