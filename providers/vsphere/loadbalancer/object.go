package loadbalancer

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// objectKind is a kind of object of NSX-T, whose API takes whole objects. An object belongs to a port of the Service.
type objectKind[T any, P api.NSXObject[T]] struct {
	rows.Kind[*T, *T]
	// in returns the collection of the kind.
	in func(*store) *collection[T, P]
}

// create returns the change that creates an object of a port.
func (k *objectKind[T, P]) create(d *differ, path string, want T) plan.Change {
	change := k.named(d, k.Create(&want))
	change.Step = objectCreation[T, P]{k.in, path, want}
	return change
}

// update returns the change of an object of a port in place, if it differs. Tags are those of the Service.
func (k *objectKind[T, P]) update(d *differ, have, want T, tags map[string]string) (plan.Change, bool) {
	change, differ := k.Update(&have, &want)
	change = k.named(d, change)
	change.ID = resourceOf(have).Path
	change.Step = objectUpdate[T, P]{kind: k, path: change.ID, want: want, fields: change.Fields, tags: tags}
	return change, differ
}

// delete returns the change that deletes an object of a port. Two objects of one name have different references.
func (k *objectKind[T, P]) delete(d *differ, have T, after []plan.Ref) plan.Change {
	change := k.named(d, k.Delete(&have))
	r := resourceOf(have)
	change.Ref = d.unused(change.Ref, r.ID)
	change.ID, change.After, change.Step = r.Path, slices.Clone(after), objectDeletion[T, P]{k.in, r.Path}
	return change
}

// claim returns the change that sets the tags of the Service on an object that has none of the cluster.
func (k *objectKind[T, P]) claim(d *differ, have T) plan.Change {
	tags, r := d.owner.tags(nil), resourceOf(have)
	change := k.named(d, plan.Change{Ref: plan.Ref{Kind: k.Name, Name: k.Key(&have), Action: plan.Update}, ID: r.Path,
		Mark: true})
	change.Ref, change.Key = d.unused(change.Ref, r.ID), ""
	change.Step = objectUpdate[T, P]{kind: k, path: r.Path, tags: tags}
	fields := plan.Fields{}
	fields.Diff(fieldTags, showTags(r.Tags), showTags(setTags(r.Tags, tags)))
	change.Fields = fields
	return change
}

// named puts the name of the load balancer before the key of an object, which is unique in its Service.
func (k *objectKind[T, P]) named(d *differ, change plan.Change) plan.Change {
	change.Key, change.Name = change.Name, portObjectName(d.name(), change.Name)
	return change
}

// tagsRow returns the row of tags. The update itself sets those of the Service in the tags that the object has then.
func tagsRow[T any]() rows.Row[*T, *T] {
	show := func(object *T) string { return showTags(resourceOf(*object).Tags) }
	return rows.Row[*T, *T]{Name: fieldTags, Value: rows.Custom(show, func(_, _ *T) {}), Mark: true}
}

// showTags formats tags for plans, without the applied record.
func showTags(tags []api.NSXTag) string {
	shown := map[string]string{}
	for _, t := range tags {
		if t.Scope != names.TagApplied {
			shown[t.Scope] = t.Tag
		}
	}
	return plan.ShowMap(shown)
}

// objectCreation creates an object.
type objectCreation[T any, P api.NSXObject[T]] struct {
	in   func(*store) *collection[T, P]
	path string
	want T
}

// Do implements plan.Step.
func (s objectCreation[T, P]) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	_, err := s.in(w.store).put(ctx, s.path, s.want)
	return err
}

// objectUpdate sets the wanted values of fields that differ, and the tags of the Service. All else stays as it is when
// the change is made.
type objectUpdate[T any, P api.NSXObject[T]] struct {
	kind   *objectKind[T, P]
	path   string
	want   T
	fields plan.Fields
	tags   map[string]string
}

// Do implements plan.Step.
func (s objectUpdate[T, P]) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	return s.kind.in(w.store).update(ctx, s.path, func(object *T) {
		s.kind.Set(object, &s.want, s.fields)
		if len(s.tags) > 0 {
			P(object).SetTags(setTags(resourceOf(*object).Tags, s.tags))
		}
	})
}

// objectDeletion deletes an object.
type objectDeletion[T any, P api.NSXObject[T]] struct {
	in   func(*store) *collection[T, P]
	path string
}

// Do implements plan.Step.
func (s objectDeletion[T, P]) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	return s.in(w.store).remove(ctx, s.path)
}
