package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Balancers implements cloudprovider.LoadBalancer for every provider. A Controller is compiled for each set of
// types, at 0.2 MB; this one is compiled once.
type Balancers = Controller[any, any, any]

// NewBalancers returns the load balancers of a cloud. It makes no call.
func NewBalancers[S, D, O any](o Options, cloud recordingCloud[S, D, O]) *Balancers {
	return New[any, any, any](o, untyped[S, D, O]{cloud})
}

// recordingCloud is a Cloud that stores applied records.
type recordingCloud[S, D, O any] interface {
	Cloud[S, D, O]
	RecordKeeper[D, O]
}

// untyped is a Cloud with values of any type.
type untyped[S, D, O any] struct{ recordingCloud[S, D, O] }

// Handles implements ClassFilter.
func (u untyped[S, D, O]) Handles(service *v1.Service) bool {
	filter, ok := u.recordingCloud.(ClassFilter)
	return !ok || filter.Handles(service)
}

// ReadsAll implements AllReader.
func (u untyped[S, D, O]) ReadsAll() bool {
	reader, ok := u.recordingCloud.(AllReader)
	return ok && reader.ReadsAll()
}

// SharedState implements Cloud.
func (u untyped[S, D, O]) SharedState(ctx context.Context, nodes []*v1.Node) (any, error) {
	return u.recordingCloud.SharedState(ctx, nodes)
}

// Desired implements Cloud.
func (u untyped[S, D, O]) Desired(key Key, in intent.Service, nodes []*v1.Node, shared any) (any, error) {
	return u.recordingCloud.Desired(key, in, nodes, typed[S](shared))
}

// Observe implements Cloud.
func (u untyped[S, D, O]) Observe(ctx context.Context, r Request[any]) (any, error) {
	return u.recordingCloud.Observe(ctx, Request[D]{Key: r.Key, Reference: r.Reference, Want: pointer[D](r.Want),
		Depth: r.Depth, Freshness: r.Freshness})
}

// Diff implements Cloud.
func (u untyped[S, D, O]) Diff(key Key, want *any, have any) (plan.Plan, error) {
	return u.recordingCloud.Diff(key, pointer[D](want), typed[O](have))
}

// Keep implements Keeper. A Cloud that keeps nothing returns what is wanted.
func (u untyped[S, D, O]) Keep(want, have any, differences []plan.Difference) any {
	keeper, ok := u.recordingCloud.(Keeper[D, O])
	if !ok {
		return want
	}
	return keeper.Keep(typed[D](want), typed[O](have), differences)
}

// Bind implements Binder. A Cloud without it returns plans with functions.
func (u untyped[S, D, O]) Bind(key Key, have any, p plan.Plan) plan.Plan {
	binder, ok := u.recordingCloud.(Binder[O])
	if !ok {
		return p
	}
	return binder.Bind(key, typed[O](have), p)
}

// DiffMembers implements Cloud.
func (u untyped[S, D, O]) DiffMembers(key Key, in intent.Service, nodes []*v1.Node, shared, have any) (plan.Plan,
	error) {
	return u.recordingCloud.DiffMembers(key, in, nodes, typed[S](shared), typed[O](have))
}

// Status implements Cloud.
func (u untyped[S, D, O]) Status(in intent.Service, have any) Status {
	return u.recordingCloud.Status(in, typed[O](have))
}

// StoredRecord implements RecordKeeper.
func (u untyped[S, D, O]) StoredRecord(key Key, have any) (record AppliedRecord, writable bool) {
	return u.recordingCloud.StoredRecord(key, typed[O](have))
}

// DesiredRecord implements RecordKeeper.
func (u untyped[S, D, O]) DesiredRecord(want any) AppliedRecord {
	return u.recordingCloud.DesiredRecord(typed[D](want))
}

// StoreRecords implements RecordKeeper.
func (u untyped[S, D, O]) StoreRecords(updates []RecordUpdate[any]) []plan.Change {
	list := make([]RecordUpdate[O], len(updates))
	for i, update := range updates {
		list[i] = RecordUpdate[O]{update.Key, typed[O](update.Have), update.Record}
	}
	return u.recordingCloud.StoreRecords(list)
}

// typed returns a value of its type: the zero value for none.
func typed[T any](value any) T {
	t, _ := value.(T)
	return t
}

// pointer returns a pointer to a copy of what a pointer to any points to.
func pointer[T any](value *any) *T {
	if value == nil {
		return nil
	}
	t := typed[T](*value)
	return &t
}
