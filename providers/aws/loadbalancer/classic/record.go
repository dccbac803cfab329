package classic

import (
	"context"
	"maps"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// The applied record of a load balancer is stored in one of its tags, without its members: AWS changes the
// tags of one load balancer per call, so that a joining node would otherwise cost a call for each of them.
// The record is part of the creation, and is updated with changes that are made anyway. It saves no reads.

// record returns the applied record of a desired state.
func (d Desired) record(fields map[string]string) lbcommon.AppliedRecord {
	// Security groups and their rules are compared by every Diff, and a load balancer that exists keeps discovered
	// subnets.
	d.Name, d.Managed, d.Zones, d.Instances, d.Warnings = "", nil, nil, nil, nil
	if !d.Listed {
		d.Subnets = nil
	}
	return applied.New(applied.Digest(d), "", fields)
}

func recordTags(record lbcommon.AppliedRecord) map[string]string {
	return map[string]string{names.AppliedTag: record.Encode()}
}

// creationTags returns the tags of a new load balancer.
func (d Desired) creationTags() map[string]string {
	tags := maps.Clone(d.Tags)
	maps.Copy(tags, recordTags(d.Record))
	return tags
}

// StoredRecord returns the applied record of a load balancer, and whether one can be stored with it: not with the load
// balancer of another owner, or with unknown tags.
func (c *Cloud) StoredRecord(key lbcommon.Key, have Observed) (record lbcommon.AppliedRecord, writable bool) {
	b := have.Balancer
	if b == nil || b.Tags == nil || c.scope(key).foreignOwner(*b) != "" {
		return lbcommon.AppliedRecord{}, false
	}
	return applied.Parse(b.Tags[names.AppliedTag]), true
}

// StoreRecords plans updates of records, one call for each load balancer.
func (c *Cloud) StoreRecords(updates []lbcommon.RecordUpdate[Observed]) []plan.Change {
	changes := make([]plan.Change, len(updates))
	for i, u := range updates {
		name, set := u.Have.Balancer.Name, recordTags(u.Record)
		changes[i] = plan.Change{
			Ref: plan.Ref{Kind: lbcommon.KindRecord, Name: name, Action: plan.Update},
			Fields: []plan.Field{{Name: "record", Before: u.Have.Balancer.Tags[names.AppliedTag],
				After: set[names.AppliedTag]}},
			Step: recordStorage{name, set},
		}
	}
	return plan.Bind(plan.Plan{Changes: changes}, c.writer(lbcommon.Key{})).Changes
}

// recordStorage sets the tags of an applied record on a load balancer.
type recordStorage struct {
	balancer string
	set      map[string]string
}

// Do implements plan.Step. A failure is not recorded: the next change stores the record again.
func (s recordStorage) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	_, err := w.api.AddTags(ctx, &elb.AddTagsInput{LoadBalancerNames: []string{s.balancer}, Tags: toTags(s.set)})
	if err = awserr.Wrap("AddTags", err); err == nil {
		w.store.updateTags(s.balancer, func(tags map[string]string) { maps.Copy(tags, s.set) })
	}
	return err
}
