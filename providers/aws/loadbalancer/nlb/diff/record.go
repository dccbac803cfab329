package diff

import (
	"context"
	"fmt"
	"maps"
	"slices"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// createRecord plans the applied record of a new load balancer: as tags of its creation, if that is enough. The
// Controller of pkg/common/loadbalancer plans the updates of records.
func (d *differ) createRecord() {
	if d.have.Balancer != nil {
		return
	}
	if d.provenByLists() {
		for i, change := range d.changes {
			if creation, ok := change.Step.(balancerCreation); ok {
				creation.tags = model.RecordTags(d.want.Record)
				d.changes[i].Step = creation
			}
		}
		return
	}
	change := recordChange(d.name(), lbcommon.AppliedRecord{}, d.want.Record)
	change.After = plan.Refs(d.changes)
	change.Step = recordStorage{[]reference{d.balancer()}, model.RecordTags(d.want.Record)}
	d.add(change)
}

// provenByLists reports whether a new load balancer is complete as soon as the lists show its target groups
// in use: a listener is created after all changes of its target group. Then the creation of the load
// balancer writes the record, although later changes are still pending.
func (d *differ) provenByLists() bool {
	return !slices.ContainsFunc(d.changes, func(c plan.Change) bool {
		return c.Kind == kindAttributes || c.Kind == kindCertificate || c.Kind == kindListener+" "+kindAttributes
	})
}

// recordStorage sets the tags of an applied record on load balancers.
type recordStorage struct {
	balancers []reference
	set       map[string]string
}

// Do implements plan.Step.
func (s recordStorage) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	arns, err := resolveAll(ids, s.balancers...)
	if err != nil {
		return err
	}
	return w.AddTags(ctx, arns, s.set)
}

// StoreRecords plans updates of the records of existing load balancers. Load balancers that get the same tags share a
// call.
func StoreRecords(updates []lbcommon.RecordUpdate[model.Observed]) []plan.Change {
	type call struct {
		recordStorage
		change plan.Change
	}
	var calls []*call
	for _, u := range updates {
		b, set := u.Have.Balancer, map[string]string{}
		for key, value := range model.RecordTags(u.Record) {
			if b.Tags[key] != value {
				set[key] = value
			}
		}
		if len(set) == 0 {
			continue
		}
		i := slices.IndexFunc(calls, func(c *call) bool {
			return len(c.balancers) < model.MaxTagResources && maps.Equal(c.set, set)
		})
		if i < 0 {
			i = len(calls)
			calls = append(calls, &call{recordStorage{set: set}, recordChange(b.Name, model.RecordOf(b.Tags), u.Record)})
		}
		calls[i].balancers = append(calls[i].balancers, reference{arn: b.ARN})
	}
	changes := make([]plan.Change, len(calls))
	for i, c := range calls {
		if others := len(c.balancers) - 1; others > 0 {
			c.change.Name += fmt.Sprintf(" and %d more", others)
		}
		c.change.Step = c.recordStorage
		changes[i] = c.change
	}
	return changes
}

func recordChange(name string, have, want lbcommon.AppliedRecord) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: lbcommon.KindRecord, Name: name, Action: plan.Update},
		Fields: []plan.Field{{Name: "record", Before: have.Encode(), After: want.Encode()}},
	}
}
