package loadbalancer

import (
	"context"
	"errors"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// addressHandle is the address of a forwarding rule that a plan creates.
const addressHandle plan.Handle = "address"

// pendingAddress stands for an address that a plan does not know yet.
const pendingAddress = "the address of the load balancer"

// maxAdded is the number of instances that one call adds or removes.
const maxAdded = 1000

// writer makes the changes of one Service, and records them in the snapshot.
type writer struct {
	*store
	key         lbcommon.Key
	clusterID   string
	environment api.Environment
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
	if w.isHeld(link) || isUsed() {
		return nil
	}
	refused, err := remove(ctx)
	if refused {
		w.recordKept(api.Path(link))
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
	release = w.hold(link)
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

// missingInstance is the entry in Observed.Kept of an instance that does not exist, although a Node has its ID.
func missingInstance(id string) string { return "missing/" + id }

// isMissing reports whether the cloud refused to add an instance because it does not exist, and remembers it: it stays
// out for a while, so that it keeps no other instance, and no forwarding rule, from being added.
func (w writer) isMissing(ctx context.Context, ids []string, err error) bool {
	if len(ids) != 1 || !cloudapi.Is(err, cloudapi.NotFound, cloudapi.Invalid) {
		return false
	}
	zone, name := names.SplitInstanceID(ids[0])
	err = w.api.Get(ctx, api.InstancesGet, api.Target{Zone: zone, Name: name}, &api.Instance{})
	if !cloudapi.Is(err, cloudapi.NotFound, cloudapi.Invalid) {
		return false
	}
	w.recordKept(missingInstance(ids[0]))
	return true
}

// inBatches makes a call for instances, in as few calls as the cloud allows. If a call is refused because of one of
// them, each gets a call of its own, so that the others are not affected. Errors of the class done are success.
func inBatches(ids []string, done cloudapi.Class, call func(ids []string) error) error {
	var errs []error
	for batch := range slices.Chunk(ids, maxAdded) {
		err := call(batch)
		if len(batch) > 1 && cloudapi.Is(err, cloudapi.NotFound, cloudapi.AlreadyExists, cloudapi.Invalid,
			cloudapi.Unavailable) {
			for _, id := range batch {
				errs = append(errs, ignore(call([]string{id}), done))
			}
			continue
		}
		errs = append(errs, ignore(err, done))
	}
	return errors.Join(errs...)
}

// ignore returns nil for an error of a class.
func ignore(err error, class cloudapi.Class) error {
	if cloudapi.Is(err, class) {
		return nil
	}
	return err
}

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
