// Package plan separates decisions from mutations: a Plan is an ordered list of changes to cloud objects that
// can be printed, compared, refused or applied. This package makes no calls to a cloud; a change carries a
// function that does.
package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
)

// Action is the kind of a change.
type Action string

// The closed set of actions. An object that needs a new identity is a Delete and a Create with a dependency
// between them, never a hidden replacement.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
)

// Ref identifies one change inside a plan. It is unique in the plan.
type Ref struct {
	// Kind is the field's standard term for the object: load balancer, listener, pool, member, security group.
	Kind string `json:"kind"`
	// Name is the object's name in the cloud.
	Name string `json:"name"`
	// Action is part of the identity, so that one plan may delete and create an object of one name.
	Action Action `json:"action"`
}

// Field is one difference between an existing and a desired object. It never contains secrets.
type Field struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Membership marks a field that lists members, which follow the nodes.
	Membership bool `json:"-"`
	// Disrupts is what the change of this field disrupts.
	Disrupts Disruption `json:"disrupts,omitempty"`
	// Removed are the items that leave a set, if it is their leaving that disrupts: each is a difference of its own.
	Removed []string `json:"-"`
	// Place names a value that several objects refer to, such as the address of a load balancer: with the same wanted
	// value, their differences are one. Empty for a value of this object alone.
	Place string `json:"-"`
}

// HeldChange is a change that is not applied until a user approves it.
type HeldChange struct {
	Change
	// Reason is why it is held. It replaces the reason of the change.
	Reason string
}

// Cause is why a disruptive difference may be applied.
type Cause struct {
	Difference
	// Fields are the edited fields of the Service; empty if they are unknown.
	Fields []string
	// Started is set if the difference may be applied in part.
	Started bool
}

// Change is one mutation of one cloud object.
type Change struct {
	Ref
	// ID is the cloud's ID of the existing object. Changes that delete an object of an inventory have it.
	ID string
	// Fields are the differences, in a stable order. A Create lists all fields (Before empty).
	Fields []Field
	// Reason is a short explanation, if the fields alone are not enough.
	Reason string
	// Key identifies the object in all plans of one Service if Name does not, because it contains settings.
	Key string
	// Disrupts is the effect on clients: the most severe one of the fields, or that of the object as a whole.
	Disrupts Disruption
	// Because names the fields of the Service whose edit is the cause of what the change disrupts.
	Because []string
	// After lists the changes that must be done (including Ready) before this one starts.
	After []Ref
	// Order lists changes that must be done before this one starts if they are in the plan. Unlike those of After, this
	// one does not need them: it is made while they are held.
	Order []Ref
	// Membership marks a change that only affects which nodes receive traffic: UpdateLoadBalancer may apply it.
	Membership bool
	// Mark marks a change that only marks objects, such as tags. A load balancer that was taken over gets its marks
	// together with the first change that is made anyway.
	Mark bool
	// Retry marks a change that was denied before. No Event reports it, because most likely it is denied again.
	Retry bool
	// Step is the mutation as data; nil if Do is set. See Bind.
	Step any
	// Do makes the mutation: one cloud call if the cloud's API allows it. A creation stores the new object's ID
	// under its handle.
	Do func(ctx context.Context, ids *Handles) error
	// Ready, if set, returns once the object has reached the state that its dependants need. It polls with ctx
	// and makes no mutation.
	Ready func(ctx context.Context, ids *Handles) error
}

// Plan is the list of changes from the existing to the desired state. The zero value means "no changes".
type Plan struct {
	// Subject identifies the object of the plan: "Service default/web", "routes of cluster prod".
	Subject string
	Changes []Change
	// Caused are the disruptive differences that have a cause in the Service, of held changes too.
	Caused []Cause
	// Held are further changes, which are not applied. HeldID identifies them, for an approval.
	Held   []HeldChange
	HeldID string
	// Approval is the approval because of which the changes are not held. It ends once they are applied.
	Approval string
	// Unapplied names fields of the Service with values that have no effect on what exists. The applied record keeps
	// their earlier values.
	Unapplied []string
	// Warnings are messages for the user about the plan. They change nothing.
	Warnings []string
	// Reasons are the reasons of the Events about Warnings, by their texts, for warnings with a reason other
	// than the default.
	Reasons map[string]events.Reason
}

// Empty reports whether the plan has no changes.
func (p Plan) Empty() bool { return len(p.Changes) == 0 }

// Has reports whether the plan has a change of the same object.
func (p Plan) Has(change Change) bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Ref == change.Ref && c.ID == change.ID })
}

// Object returns what identifies the object of the change in all plans of one Service.
func (c Change) Object() string {
	if c.Key != "" {
		return c.Key
	}
	return c.Name
}

// Differences returns the disruptive differences of a change: one for each field that disrupts more than members, one
// for each item that leaves such a set, or one for the object as a whole if no field is disruptive by itself.
func (c Change) Differences() []Difference {
	if !c.Disrupts.Severe() {
		return nil
	}
	var differences []Difference
	for _, f := range c.Fields {
		if !f.Disrupts.Severe() {
			continue
		}
		d := Difference{Kind: c.Kind, Object: c.Object(), Field: f.Name, Wanted: f.After, Disrupts: f.Disrupts}
		if f.Place != "" {
			d.Kind, d.Object = "", f.Place
		}
		if len(f.Removed) == 0 {
			differences = append(differences, d)
		}
		for _, item := range f.Removed {
			d.Field, d.Wanted = f.Name+" "+item, ""
			differences = append(differences, d)
		}
	}
	if len(differences) > 0 {
		return differences
	}
	var wanted []string
	for _, f := range c.Fields {
		if c.Action != Delete && !f.Membership {
			wanted = append(wanted, f.Name+"="+f.After)
		}
	}
	return []Difference{{
		Kind: c.Kind, Object: c.Object(), Wanted: strings.Join(wanted, "\n"), Disrupts: c.Disrupts,
	}}
}

// Harmless returns the differences of an existing object that disrupt nothing: one for each field, or one for an object
// that is deleted. Objects that are created, members and marks have none.
func (c Change) Harmless() []Difference {
	if c.Action == Create || c.Membership || c.Mark {
		return nil
	}
	if c.Action == Delete {
		if c.Disrupts.Severe() {
			return nil
		}
		return []Difference{{Kind: c.Kind, Object: c.Object(), Disrupts: c.Disrupts}}
	}
	severe := c.Differences()
	if len(severe) == 1 && severe[0].Field == "" {
		return nil // The change disrupts as a whole.
	}
	var differences []Difference
	for _, f := range c.Fields {
		if !f.Disrupts.Severe() && !f.Membership {
			differences = append(differences, Difference{Kind: c.Kind, Object: c.Object(), Field: f.Name, Wanted: f.After,
				Disrupts: f.Disrupts})
		}
	}
	return differences
}

// Differences returns the disruptive differences of all changes of a plan, held ones included.
func (p Plan) Differences() []Difference {
	var differences []Difference
	for _, c := range p.Changes {
		differences = append(differences, c.Differences()...)
	}
	for _, h := range p.Held {
		differences = append(differences, h.Differences()...)
	}
	return differences
}
