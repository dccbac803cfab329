package instances

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	cloudnodeutil "k8s.io/cloud-provider/node/helpers"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/batch"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Instances implements cloudprovider.InstancesV2 over a Source. It is safe for concurrent use.
//
// Every method returns the Source's error unchanged in class, and never reads an error as
// "does not exist". A provider ID of another cloud is a *ForeignIDError, a malformed one a
// *MalformedIDError.
type Instances struct {
	options Options
	source  Source
	scheme  Scheme
	known   *snapshot

	list *batch.Batcher[struct{}, struct{}]
	next *batch.Batcher[time.Time, struct{}]
	pace pacer
	// listing lets one list run at a time: the snapshot cannot tell two apart.
	listing sync.Mutex
	get     *batch.Batcher[string, Instance]
	find    *batch.Batcher[string, Instance]
}

var (
	_ cloudprovider.InstancesV2 = (*Instances)(nil)
	_ provider.NodeOwner        = (*Instances)(nil)
)

// New returns Instances over source. It makes no call.
func New(o Options, source Source, scheme Scheme) *Instances {
	o = o.withDefaults()
	shared().set.Register()
	i := &Instances{options: o, source: source, scheme: scheme, known: newSnapshot()}
	i.list = batch.New(batch.Options{Timeout: o.CallTimeout}, i.refresh)
	i.next = batch.New(batch.Options{Timeout: o.CallTimeout + listPause}, i.awaitList)
	i.get = batch.New(i.batchOptions("get"), i.reader(source.Get, byID))
	i.find = batch.New(i.batchOptions("find"), i.reader(source.Find, byName))
	return i
}

func (i *Instances) batchOptions(operation string) batch.Options {
	return batch.Options{
		Provider: i.options.Provider, Operation: operation,
		MaxSize: i.options.MaxBatch, Timeout: i.options.CallTimeout,
		// An API that refuses a request as invalid means one of its IDs; the others are innocent.
		Split: func(err error) bool { return cloudapi.Is(err, cloudapi.Invalid) },
	}
}

// InstanceExists says whether the node's instance exists. False is only said after a read of
// that one instance that started after the question.
func (i *Instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	_, found, err := i.ofNode(ctx, node, i.options.SnapshotAge, i.known.fallenBehind())
	return found, err
}

// InstanceShutdown says whether the node's instance is stopped. An instance that does not exist
// is cloudprovider.InstanceNotFound.
func (i *Instances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	in, found, err := i.ofNode(ctx, node, i.options.SnapshotAge, i.known.fallenBehind())
	if err != nil {
		return false, err
	}
	if !found {
		return false, cloudprovider.InstanceNotFound
	}
	return in.State == Stopped, nil
}

// InstanceMetadata returns what the node's status and labels shall say. An instance that does
// not exist is cloudprovider.InstanceNotFound.
func (i *Instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	age := i.options.SnapshotAge
	if nodes.Uninitialized(node) {
		age = i.options.JoinAge
	}
	in, found, err := i.ofNode(ctx, node, age, true)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, cloudprovider.InstanceNotFound
	}
	if in.Incomplete != nil && nodes.Uninitialized(node) {
		return nil, in.Incomplete
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:    in.ProviderID,
		InstanceType:  in.Type,
		NodeAddresses: slices.Clone(in.Addresses),
		Zone:          in.Zone,
		Region:        in.Region,
		// The framework and its callers may write to what they get.
		AdditionalLabels: maps.Clone(in.Labels),
	}, nil
}

// NodeAddresses returns the addresses that the framework is about to write to the node's status: the
// instance's, those first that the kubelet was told to use. An instance that does not exist is
// cloudprovider.InstanceNotFound.
func (i *Instances) NodeAddresses(ctx context.Context, node *v1.Node) ([]v1.NodeAddress, error) {
	in, found, err := i.ofNode(ctx, node, i.options.SnapshotAge, true)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, cloudprovider.InstanceNotFound
	}
	if told, ok := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]; ok {
		return cloudnodeutil.GetNodeAddressesFromNodeIP(told, in.Addresses)
	}
	return slices.Clone(in.Addresses), nil
}

// OwnsNode says whose the node is by its provider ID. It does no I/O.
func (i *Instances) OwnsNode(node *v1.Node) provider.Ownership {
	if node.Spec.ProviderID == "" {
		return provider.Unknown
	}
	_, err := i.scheme.Parse(node.Spec.ProviderID)
	var foreign *ForeignIDError
	switch {
	case err == nil:
		return provider.Mine
	case errors.As(err, &foreign):
		return provider.Foreign
	default:
		return provider.Unknown
	}
}

// ofNode returns the node's instance, by provider ID where it has one, else by name. bulk says
// that many nodes are being asked about, so that a list is worth its calls.
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

// lookup answers from the snapshot if it holds the instance and is no older than age, from a list
// if one is due, and else by reading that one instance.
func (i *Instances) lookup(ctx context.Context, r ref, age time.Duration, bulk bool) (Instance, bool, error) {
	oldest := i.options.Clock.Now().Add(-age)
	if in, ok := i.known.get(r, oldest); ok {
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

// lookupByList answers from a list, if one is due or if single reads have been too many.
func (i *Instances) lookupByList(ctx context.Context, r ref, oldest time.Time) (Instance, bool, error) {
	now := i.options.Clock.Now()
	if i.known.wantsList(now, oldest, i.options.JoinAge) {
		_, _, err := i.list.Do(ctx, struct{}{})
		if err := i.listError(ctx, err); err != nil {
			return Instance{}, false, err
		}
		if in, ok := i.known.get(r, oldest); ok {
			return in, true, nil
		}
	}
	if i.pace.allow(now) {
		return Instance{}, false, nil
	}
	_, _, err := i.next.Do(ctx, now)
	if err := i.listError(ctx, err); err != nil {
		return Instance{}, false, err
	}
	in, ok := i.known.get(r, oldest)
	return in, ok, nil
}

// listError says whether a list that failed is an error to its callers. It is not where reading
// single instances may still work (a cloud with a broken zone refuses unscoped lists); after
// throttling it is, because single reads would only add calls.
func (i *Instances) listError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || cloudapi.Is(err, cloudapi.Throttled, cloudapi.Canceled) {
		return err
	}
	klog.FromContext(ctx).Info("Listing instances failed, reading single instances instead", "provider", i.options.Provider, "err", err)
	return nil
}

// refresh makes the list that is due. Callers that queued behind a list that has just ended are
// served by it.
func (i *Instances) refresh(ctx context.Context, _ []struct{}) (map[struct{}]struct{}, error) {
	now := i.options.Clock.Now()
	if !i.known.wantsList(now, now.Add(-i.options.JoinAge), 0) {
		return nil, nil
	}
	return nil, i.readList(ctx)
}

// readList reads the snapshot anew.
func (i *Instances) readList(ctx context.Context) error {
	i.listing.Lock()
	defer i.listing.Unlock()
	at := i.options.Clock.Now()
	i.known.beginList()
	list, err := i.source.List(ctx)
	if err != nil {
		i.known.failList(i.options.Clock.Now())
		return err
	}
	i.known.endList(list, at)
	return nil
}

// reader makes a bulk read of single instances out of Get or Find, and keeps the snapshot up to date.
func (i *Instances) reader(read func(context.Context, []string) ([]Instance, error), key func(Instance) (string, ref)) batch.Func[string, Instance] {
	return func(ctx context.Context, keys []string) (map[string]Instance, error) {
		at := i.options.Clock.Now()
		list, err := read(ctx, keys)
		if err != nil {
			return nil, err
		}
		found := make(map[string]Instance, len(list))
		for _, in := range list {
			k, _ := key(in)
			found[k] = in
		}
		i.known.merge(found, at)
		for _, k := range keys {
			if _, ok := found[k]; !ok {
				_, r := key(Instance{ID: k, NodeName: k})
				i.known.forget(r, at)
			}
		}
		return found, nil
	}
}

func byID(in Instance) (string, ref)   { return in.ID, ref{id: in.ID} }
func byName(in Instance) (string, ref) { return in.NodeName, ref{name: in.NodeName} }
