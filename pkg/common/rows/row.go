// Package rows declares the fields of cloud objects. A Kind has one Row for each field: its name in the cloud's API,
// how an object has its value, what a change of it disrupts, and whether it can be changed in place. What plans, update
// requests, holds and the guides need of a field follows from its row, so that a field is added by adding a row.
//
// An existing object and the wanted one have the same type. What the wanted object takes from the existing one, such as
// tags of others, is in it before the two are compared.
package rows

import "github.com/unified-ccm/unified-ccm/pkg/common/plan"

// Row is one field of a kind of object. T is a pointer to the type of objects, U one to the type of update requests:
// code with type parameters is compiled once for all pointers, and again for each type of struct.
type Row[T, U any] struct {
	// Name is the field's name in the cloud's API.
	Name  string
	Value Value[T]
	// Set gives an update request the wanted value. Without it, the field is set at the creation and never changed: an
	// existing object with another value has to be replaced.
	Set func(request U, want T)
	// Ignore reports that the existing value stays, because the wanted one is not ours or cannot be compared; nil means
	// never.
	Ignore func(have, want T) bool
	// Unread reports that the existing value was not read: then it differs from every wanted one. Nil means never.
	Unread func(have T) bool
	// Effect declares what a change disrupts: its description for users and the disruption. The zero value disrupts
	// nothing. Of entries, only those of its Fields disrupt, or all without Fields.
	Effect plan.Effect
	// Disrupts limits Effect to some changes; nil means all.
	Disrupts func(have, want T) bool
	// Items returns the items that leave a set, if it is their leaving that disrupts.
	Items func(have, want T) []string
	// Place names a value that several objects refer to: see plan.Field.
	Place string
	// Group names fields that the cloud's API changes only together, and that are kept only together.
	Group string
	// Membership marks a field that lists members, Mark one that only marks the object: see plan.Change.
	Membership, Mark bool
}

// InPlace returns the rows of a cloud that takes whole objects. Those without Set set their value in the object.
func InPlace[T any](rows []Row[T, T]) []Row[T, T] {
	for i, r := range rows {
		if r.Set == nil {
			rows[i].Set = r.Value.copy
		}
	}
	return rows
}

// compare returns the differences of the row between two objects: one, or one for each entry.
func (r *Row[T, U]) compare(have, want T) []comparison {
	if r.Ignore != nil && r.Ignore(have, want) {
		return nil
	}
	unread := r.Unread != nil && r.Unread(have)
	c := comparison{inPlace: r.Set != nil, mark: r.Mark, field: plan.Field{Name: r.Name, Membership: r.Membership,
		Place: r.Place}}
	if r.Disrupts == nil || r.Disrupts(have, want) {
		c.field.Disrupts = r.Effect.Disrupts
	}
	if r.Value.entries != nil {
		return c.ofEntries(r.Value.entries(have), r.Value.entries(want), r.Effect.Fields, unread)
	}
	before, after, differ := r.Value.texts(have, want)
	if !differ && !unread {
		return nil
	}
	c.field.Before, c.field.After = before, after
	if r.Items != nil {
		c.field.Removed = r.Items(have, want)
	}
	return []comparison{c}
}

// Traffic returns the effect of a change that takes traffic from clients. The guides describe the change in these
// words, which are Markdown: "a listener is deleted".
func Traffic(change string) plan.Effect {
	return plan.Effect{Change: change, Disrupts: plan.DisruptsTraffic}
}

// Address returns the effect of a change that takes an address from the load balancer.
func Address(change string) plan.Effect {
	return plan.Effect{Change: change, Disrupts: plan.DisruptsAddress}
}

// LoadBalancer returns the effect of a change that deletes or replaces the load balancer.
func LoadBalancer(change string) plan.Effect {
	return plan.Effect{Change: change, Disrupts: plan.DisruptsLoadBalancer}
}
