package nlb

import (
	"context"
	"maps"
	"slices"
	"strconv"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/klog/v2"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// The applied record of a load balancer is kept in two of its tags. AppliedTag has the record without its
// members, TargetsTag has the members: load balancers with the same nodes have equal values there, so
// that one call writes many. A manager that starts and finds the record of what is wanted
// reads neither listeners and attributes nor targets. What other clients change meanwhile is found
// by the audit, which ignores records.
//
// The record is written with changes that are made anyway, and never by itself: a load balancer that
// was taken over has none until something about it changes.

// record returns the applied record of a desired state.
func (d Desired) record(fields map[string]string) lbcommon.AppliedRecord {
	ids := map[string]bool{}
	members := ""
	for _, l := range d.Listeners {
		for _, t := range l.Group.Targets {
			ids[t.ID] = ids[t.ID] || t.Keep
		}
	}
	// While an instance is stopped, it may be a target or not.
	if !slices.Contains(slices.Collect(maps.Values(ids)), true) {
		members = lbcommon.DigestSet(slices.Collect(maps.Keys(ids)))
	}
	return lbcommon.NewRecord(d.stateDigest(), members, fields)
}

// stateDigest covers everything of a load balancer but its targets and what every Diff compares anyway:
// security groups and their rules.
func (d Desired) stateDigest() string {
	d.Key, d.Record, d.Warnings, d.NodeGroups = lbcommon.Key{}, lbcommon.AppliedRecord{}, nil, nil
	d.Managed, d.ByCIDR = vpc.ManagedGroup{}, vpc.ByCIDR{}
	d.NodeZones, d.ZoneOf = nil, nil
	d.Listeners = slices.Clone(d.Listeners)
	for i := range d.Listeners {
		d.Listeners[i].Group.Targets = nil
	}
	return lbcommon.Digest(d)
}

// recordOf returns the applied record in the tags of a load balancer.
func recordOf(tags map[string]string) lbcommon.AppliedRecord {
	record := lbcommon.ParseRecord(tags[names.AppliedTag])
	if !record.IsZero() {
		record.Members = tags[names.TargetsTag]
	}
	return record
}

// recordTags returns the tags that hold an applied record.
func recordTags(record lbcommon.AppliedRecord) map[string]string {
	tags := map[string]string{}
	if record.Members != "" {
		tags[names.TargetsTag] = record.Members
	}
	record.Members = ""
	tags[names.AppliedTag] = record.Encode()
	return tags
}

// prove fills in what the applied record of a load balancer proves to be as wanted, if nothing is known of
// its details yet.
func (s *Store) prove(arn string, want *Desired) {
	have, _ := s.tags.Get(arn)
	record := recordOf(have)
	if _, read := s.listeners.Get(arn); want == nil || read || record.State == "" || record.State != want.Record.State {
		return
	}
	groups := map[string]string{}
	for _, g := range s.groups.Lookup(indexBalancer + arn) {
		groups[g.Name] = g.ARN
	}
	r := s.state.Begin()
	listeners := []Listener{}
	for _, w := range want.Listeners {
		group, linked := groups[w.Group.Name]
		if !linked {
			return // the load balancer is incomplete
		}
		listeners = append(listeners, w.applied(group))
	}
	for _, w := range want.Listeners {
		s.groupAttributes.Merge(r, groups[w.Group.Name], maps.Clone(w.Group.Attributes))
		if !record.Proves(want.Record) {
			continue
		}
		health := Health{}
		for _, t := range w.Group.Targets {
			health[t.Target] = types.TargetHealthStateEnumInitial
		}
		s.targets.Merge(r, groups[w.Group.Name], health)
	}
	s.listeners.Merge(r, arn, listeners)
	s.attributes.Merge(r, arn, maps.Clone(want.Attributes))
}

// applied returns a listener as it was applied. Its ARN is not known: before a change, it is read.
func (w WantedListener) applied(group string) Listener {
	l := Listener{
		Port: w.Port, Protocol: w.Protocol, Policy: w.Policy,
		Certificates: w.Certificates, CertificatesRead: true, Forwards: []Forward{{Group: group}},
	}
	if w.IdleTimeout > 0 {
		l.Attributes = map[string]string{attributeIdleTimeout: strconv.Itoa(int(w.IdleTimeout))}
	}
	return l
}

// record plans the applied record, if anything of the load balancer changes.
func (d *differ) record() {
	if !slices.ContainsFunc(d.changes, func(c plan.Change) bool { return c.Kind != vpc.KindRules }) {
		return
	}
	want := d.want.Record
	if d.have.Balancer == nil && d.provenByLists() {
		d.creationTags = recordTags(want)
		return
	}
	var have lbcommon.AppliedRecord
	if b := d.have.Balancer; b != nil {
		if b.Tags == nil {
			return
		}
		have = recordOf(b.Tags)
	}
	state := want
	state.Members = have.Members
	switch {
	case have.Outdated(state):
		d.add(d.recordState(have, want))
	case want.Members != "" && have.Members != want.Members:
		d.add(d.recordTargets(have, want))
	}
}

// provenByLists reports whether a load balancer that is created is complete as soon as the lists show its
// target groups in use: a listener is created after everything that its target group needs. Then
// the creation of the load balancer writes the record, although the rest is still to come.
func (d *differ) provenByLists() bool {
	return !slices.ContainsFunc(d.changes, func(c plan.Change) bool {
		return c.Kind == kindAttributes || c.Kind == kindCertificate || c.Kind == kindListener+" "+kindAttributes
	})
}

func (d *differ) recordChange(have, want lbcommon.AppliedRecord) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: lbcommon.KindRecord, Name: d.name(), Action: plan.Update},
		Fields: []plan.Field{{Name: "record", Before: have.Encode(), After: want.Encode()}},
	}
}

// recordState writes the whole record after all other changes.
func (d *differ) recordState(have, want lbcommon.AppliedRecord) plan.Change {
	change := d.recordChange(have, want)
	change.After = refs(d.changes)
	change.Do = func(ctx context.Context, ids *plan.Handles) error {
		arn, err := d.balancerARN(ids)
		if err != nil {
			return err
		}
		return d.addTags(ctx, []string{arn}, recordTags(want))
	}
	return change
}

// recordTargets writes which targets were applied, together with those of other load balancers that
// have the same nodes: with each full call. If the manager stops before there are enough of them,
// its successor reads the targets of the others.
func (d *differ) recordTargets(have, want lbcommon.AppliedRecord) plan.Change {
	change := d.recordChange(have, want)
	change.Membership = true
	for _, c := range d.changes {
		if c.Kind == kindTargets {
			change.After = append(change.After, c.Ref)
		}
	}
	change.Do = func(ctx context.Context, _ *plan.Handles) error {
		arns := d.cloud.store.unrecorded(d.have.Balancer.ARN, want.Members)
		if len(arns) == 0 {
			return nil
		}
		// A record saves reads and nothing else: without it, the targets are as they should be.
		if err := d.addTags(ctx, arns, map[string]string{names.TargetsTag: want.Members}); err != nil {
			klog.FromContext(ctx).Info("Recording the targets of load balancers failed", "loadBalancers", len(arns), "err", err)
		}
		return nil
	}
	return change
}

func (d *differ) addTags(ctx context.Context, arns []string, set map[string]string) error {
	_, err := d.cloud.options.API.AddTags(ctx, &elbv2.AddTagsInput{ResourceArns: arns, Tags: toTags(set)})
	return d.retagged(awserr.Wrap("AddTags", err), arns, set, nil)
}

// forgetMembers drops what was to be recorded of a load balancer whose targets change again.
func (s *Store) forgetMembers(arn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, arn)
}

// unrecorded notes that the targets of a load balancer are to be recorded. It returns those to record
// now: none, or as many as one call takes.
func (s *Store) unrecorded(arn, members string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[arn] = members
	var arns []string
	for other, its := range s.records {
		if its == members {
			arns = append(arns, other)
		}
	}
	if len(arns) < tagsAtOnce {
		return nil
	}
	for _, arn := range arns {
		delete(s.records, arn)
	}
	slices.Sort(arns)
	return arns
}
