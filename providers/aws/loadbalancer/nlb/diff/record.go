package diff

import (
	"context"
	"fmt"
	"maps"
	"slices"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/apply"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
)

// createRecord plans the applied record of a new load balancer: as tags of its creation, if that is enough. The
// Controller of pkg/common/loadbalancer plans the updates of records.
func (d *differ) createRecord() {
	if d.have.Balancer != nil {
		return
	}
	if d.provenByLists() {
		d.creationTags = model.RecordTags(d.want.Record)
		return
	}
	change := recordChange(d.name(), lbcommon.AppliedRecord{}, d.want.Record)
	change.After = plan.Refs(d.changes)
	change.Do = withARN(d.balancerARN, func(ctx context.Context, arn string) error {
		return d.Write.AddTags(ctx, []string{arn}, model.RecordTags(d.want.Record))
	})
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

// StoreRecords plans updates of the records of existing load balancers, which write makes. Load balancers that get the
// same tags share a call.
func StoreRecords(write *apply.Applier, updates []lbcommon.RecordUpdate[model.Observed]) []plan.Change {
	type call struct {
		set    map[string]string
		arns   []string
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
			return len(c.arns) < observe.MaxTagResources && maps.Equal(c.set, set)
		})
		if i < 0 {
			i = len(calls)
			calls = append(calls, &call{set: set, change: recordChange(b.Name, model.RecordOf(b.Tags), u.Record)})
		}
		calls[i].arns = append(calls[i].arns, b.ARN)
	}
	changes := make([]plan.Change, len(calls))
	for i, c := range calls {
		if others := len(c.arns) - 1; others > 0 {
			c.change.Name += fmt.Sprintf(" and %d more", others)
		}
		c.change.Do = func(ctx context.Context, _ *plan.Handles) error { return write.AddTags(ctx, c.arns, c.set) }
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
