package loadbalancer

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/classic"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Observe implements lbcommon.Cloud. The generation that the Service selects is read as freshly as requested;
// for the other one, which only matters for a change of type, the shared list is enough.
func (c *Cloud) Observe(ctx context.Context, request lbcommon.Request[Desired]) (Observed, error) {
	if request.Depth == lbcommon.Existence {
		return c.inventory(ctx, request)
	}
	made, err := c.made.Get(ctx)
	if err != nil {
		return Observed{}, err
	}
	key := request.Key
	var want *model.Desired
	if request.Want != nil {
		want = request.Want.Network
	}
	depth := func(of annotation.Type) lbcommon.Freshness {
		if request.Reference.Class == string(of) {
			return request.Freshness
		}
		return lbcommon.Cached
	}
	have := Observed{made: made}
	if have.Network, err = made.network.Store().Observe(ctx, key, want, depth(annotation.Network)); err != nil {
		return Observed{}, err
	}
	have.Classic, err = made.classic.Observe(ctx, key, depth(annotation.Classic))
	return have, err
}

// inventory is Observe with depth Existence. Authoritative, it reads the generation that the Service selects,
// and the other one if the shared list contains an object of it.
func (c *Cloud) inventory(ctx context.Context, request lbcommon.Request[Desired]) (Observed, error) {
	key, class, fresh := request.Key, request.Reference.Class, request.Freshness
	made, err := c.made.Get(ctx)
	if err != nil {
		return Observed{}, err
	}
	groups := made.reader.Groups()
	if !c.options.Settings.NoNodeRules {
		if err := groups.Sweep(ctx); err != nil {
			return Observed{}, err
		}
	}
	have, err := made.listed(ctx, key)
	if err != nil {
		return Observed{}, err
	}
	groups.Find(ruleOwner(key, have))
	// the same, with the groups that were found
	if have, err = made.listed(ctx, key); err != nil || fresh == lbcommon.Cached {
		return have, err
	}
	if class == string(annotation.Network) || class == string(annotation.External) ||
		!empty(made.network.Diff(key, nil, have.Network)) {
		if have.Network, err = made.network.Store().Inventory(ctx, key, fresh); err != nil {
			return Observed{}, err
		}
	}
	if left, diffErr := made.classic.Diff(key, nil, have.Classic); class != string(annotation.Network) ||
		diffErr != nil || !left.Empty() {
		have.Classic, err = made.classic.Inventory(ctx, key, fresh)
	}
	return have, err
}

// listed returns the objects of both generations in the shared lists.
func (g *generations) listed(ctx context.Context, key lbcommon.Key) (Observed, error) {
	have := Observed{made: g}
	var err error
	if have.Network, err = g.network.Store().Inventory(ctx, key, lbcommon.Cached); err != nil {
		return Observed{}, err
	}
	have.Classic, err = g.classic.Inventory(ctx, key, lbcommon.Cached)
	return have, err
}

// ruleOwner returns what identifies the rules of a load balancer on nodes.
func ruleOwner(key lbcommon.Key, have Observed) vpc.RuleOwner {
	o := vpc.RuleOwner{LoadBalancer: names.LoadBalancerName(key.UID)}
	if b := have.Network.Balancer; b != nil {
		o.Groups = append(o.Groups, b.SecurityGroups...)
	}
	if b := have.Classic.Balancer; b != nil {
		o.Groups = append(o.Groups, b.Groups...)
	}
	return o
}

func empty(changes []plan.Change, _ []string, err error) bool { return err == nil && len(changes) == 0 }

// Diff implements lbcommon.Cloud. Both generations are removed if nothing should exist, whichever the Service
// selects by then.
func (c *Cloud) Diff(key lbcommon.Key, want *Desired, have Observed) (plan.Plan, error) {
	subject := "Service " + key.Namespace + "/" + key.Name
	switch {
	case want == nil:
		old, err := have.made.classic.Diff(key, nil, have.Classic)
		if err != nil {
			return plan.Plan{}, err
		}
		changes, warnings, err := have.made.network.Diff(key, nil, have.Network)
		return join(plan.Plan{Subject: subject, Changes: changes, Warnings: warnings}, old), err
	case want.Network != nil:
		if err := c.refuseChange(key, annotation.Network, have); err != nil {
			return plan.Plan{}, err
		}
		changes, warnings, err := have.made.network.Diff(key, want.Network, have.Network)
		return plan.Plan{Subject: subject, Changes: changes, Warnings: warnings, Reasons: want.Network.Reasons}, err
	default:
		if err := c.refuseChange(key, annotation.Classic, have); err != nil {
			return plan.Plan{}, err
		}
		p, err := have.made.classic.Diff(key, want.Classic, have.Classic)
		p.Subject, p.Reasons = subject, want.Classic.Reasons
		return p, err
	}
}

// DiffMembers implements lbcommon.Cloud, for the existing load balancer of either generation.
func (c *Cloud) DiffMembers(key lbcommon.Key, in intent.Service, all []*v1.Node, shared SharedState,
	have Observed) (plan.Plan, error) {
	options, err := annotation.Read(in)
	members, _ := c.members(nodes.FilterByLabels(all, options.NodeLabels), shared.SharedState)
	if intent.HasProblem(err, annotation.KeyNodeLabels) { // NodeLabels are not set
		members = have.existing(members)
	}
	network := shared.made.network.DiffMembers(model.Request{Key: key, Service: in, Options: options, Nodes: members,
		Shared: shared.SharedState}, have.Network)
	old := shared.made.classic.DiffMembers(classic.Request{Key: key, Instances: instanceIDs(members),
		Shared: shared.SharedState}, have.Classic)
	return plan.Plan{Subject: key.Subject(), Changes: slices.Concat(network, old)}, nil
}

// existing returns the nodes that receive traffic from a load balancer.
func (o Observed) existing(members []model.Node) []model.Node {
	ids := map[string]bool{}
	for _, g := range o.Network.TargetGroups {
		for target := range g.Targets {
			ids[target.ID] = true
		}
	}
	if b := o.Classic.Balancer; b != nil {
		for _, id := range b.Instances {
			ids[id] = true
		}
	}
	return slices.DeleteFunc(members, func(n model.Node) bool {
		return !ids[n.InstanceID] && !slices.ContainsFunc(n.Addresses, func(a string) bool { return ids[a] })
	})
}

// refuseChange refuses to create a load balancer while the Service has one of the other generation: it checks
// the existing objects, not the form of a host name.
func (c *Cloud) refuseChange(key lbcommon.Key, to annotation.Type, have Observed) error {
	cluster := have.made.cluster.ID
	var name, kind, back string
	switch n, b := have.Network.Balancer, have.Classic.Balancer; {
	case to == annotation.Classic && n != nil && tags.Foreign(n.Tags, cluster, key) == "":
		name, kind, back = n.Name, "network", "set "+annotation.KeyType+" back to nlb"
	case to == annotation.Network && b != nil && tags.Foreign(b.Tags, cluster, key) == "":
		name, kind, back = b.Name, "classic", "remove "+annotation.KeyType
	default:
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "Service " + key.Namespace + "/" + key.Name,
		Err: fmt.Errorf("%s: the Service has the %s load balancer %s, and no load balancer can change its type: %s, or "+
			"delete the Service and create it again, which gives it a new address",
			annotation.KeyType, kind, name, back)}
}

// Status implements lbcommon.Cloud.
func (c *Cloud) Status(_ intent.Service, have Observed) lbcommon.Status {
	if have.Network.Balancer != nil || have.made == nil {
		return lbcommon.Status{LoadBalancer: model.Status(have.Network), Failure: model.Failure(have.Network)}
	}
	// Classic load balancers have an address as soon as they exist.
	return lbcommon.Status{LoadBalancer: have.made.classic.Status(have.Classic)}
}

// join appends a plan to another one. Both may change one security group: then the second change gets another
// name, and follows the first.
func join(p, q plan.Plan) plan.Plan {
	taken := map[plan.Ref]bool{}
	for _, change := range p.Changes {
		taken[change.Ref] = true
	}
	renamed := map[plan.Ref]plan.Ref{}
	for _, change := range q.Changes {
		if taken[change.Ref] {
			other := change.Ref
			other.Name += " (classic)"
			renamed[change.Ref] = other
		}
	}
	for _, change := range q.Changes {
		after := make([]plan.Ref, 0, len(change.After)+1)
		for _, ref := range change.After {
			if other, ok := renamed[ref]; ok {
				ref = other
			}
			after = append(after, ref)
		}
		if other, ok := renamed[change.Ref]; ok {
			after = append(after, change.Ref)
			change.Ref = other
		}
		change.After = after
		p.Changes = append(p.Changes, change)
	}
	p.Warnings = append(p.Warnings, q.Warnings...)
	return p
}
