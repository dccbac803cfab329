package loadbalancer

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// erasedCloud is a Cloud with values of any type. The Controller has one form for all clouds: compiled for the types of
// each of them, it would have 0.2 MB more each.
type erasedCloud[S, D, O any] struct{ cloud Cloud[S, D, O] }

// Name implements Cloud.
func (e erasedCloud[S, D, O]) Name(key Key) string { return e.cloud.Name(key) }

// Reference implements Cloud.
func (e erasedCloud[S, D, O]) Reference(service *v1.Service) Reference {
	return e.cloud.Reference(service)
}

// SharedState implements Cloud.
func (e erasedCloud[S, D, O]) SharedState(ctx context.Context, nodes []*v1.Node) (any, error) {
	return e.cloud.SharedState(ctx, nodes)
}

// Validate implements Cloud.
func (e erasedCloud[S, D, O]) Validate(in intent.Service) error { return e.cloud.Validate(in) }

// Desired implements Cloud.
func (e erasedCloud[S, D, O]) Desired(key Key, in intent.Service, nodes []*v1.Node, shared any) (any, error) {
	return e.cloud.Desired(key, in, nodes, typed[S](shared))
}

// Observe implements Cloud.
func (e erasedCloud[S, D, O]) Observe(ctx context.Context, r Request[any]) (any, error) {
	return e.cloud.Observe(ctx, Request[D]{Key: r.Key, Reference: r.Reference, Want: pointer[D](r.Want),
		Depth: r.Depth, Freshness: r.Freshness})
}

// Diff implements Cloud.
func (e erasedCloud[S, D, O]) Diff(key Key, want *any, have any) (plan.Plan, error) {
	return e.cloud.Diff(key, pointer[D](want), typed[O](have))
}

// DiffMembers implements Cloud.
func (e erasedCloud[S, D, O]) DiffMembers(key Key, in intent.Service, nodes []*v1.Node, shared, have any) (plan.Plan,
	error) {
	return e.cloud.DiffMembers(key, in, nodes, typed[S](shared), typed[O](have))
}

// Status implements Cloud.
func (e erasedCloud[S, D, O]) Status(in intent.Service, have any) Status {
	return e.cloud.Status(in, typed[O](have))
}

// erasedKeeper is a Keeper with values of any type.
type erasedKeeper[D, O any] struct{ keeper Keeper[D, O] }

// Keep implements Keeper.
func (e erasedKeeper[D, O]) Keep(want, have any, differences []plan.Difference) any {
	return e.keeper.Keep(typed[D](want), typed[O](have), differences)
}

// erasedBinder is a Binder with values of any type.
type erasedBinder[O any] struct{ binder Binder[O] }

// Bind implements Binder.
func (e erasedBinder[O]) Bind(key Key, have any, p plan.Plan) plan.Plan {
	return e.binder.Bind(key, typed[O](have), p)
}

// erasedRecords is a RecordKeeper with values of any type.
type erasedRecords[D, O any] struct{ records RecordKeeper[D, O] }

// StoredRecord implements RecordKeeper.
func (e erasedRecords[D, O]) StoredRecord(key Key, have any) (record AppliedRecord, writable bool) {
	return e.records.StoredRecord(key, typed[O](have))
}

// DesiredRecord implements RecordKeeper.
func (e erasedRecords[D, O]) DesiredRecord(want any) AppliedRecord {
	return e.records.DesiredRecord(typed[D](want))
}

// StoreRecords implements RecordKeeper.
func (e erasedRecords[D, O]) StoreRecords(updates []RecordUpdate[any]) []plan.Change {
	list := make([]RecordUpdate[O], len(updates))
	for i, update := range updates {
		list[i] = RecordUpdate[O]{update.Key, typed[O](update.Have), update.Record}
	}
	return e.records.StoreRecords(list)
}

// erasedFinalizers is a FinalizerKeeper with values of any type.
type erasedFinalizers[D, O any] struct{ FinalizerKeeper[D, O] }

// Finalizers implements FinalizerKeeper.
func (e erasedFinalizers[D, O]) Finalizers(want *any, have any) []string {
	return e.FinalizerKeeper.Finalizers(pointer[D](want), typed[O](have))
}

// typed returns a value of its type: the zero value for none. It panics for a value of another type, which only a
// mistake in this package can pass.
func typed[T any](value any) T {
	t, ok := value.(T)
	if !ok && value != nil {
		panic(fmt.Sprintf("a value of a cloud has the type %T, not %T", value, t))
	}
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
