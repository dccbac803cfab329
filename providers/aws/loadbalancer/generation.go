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
	have, err := c.observe(ctx, request)
	if err != nil {
		return Observed{}, err
	}
	have.shareGroups()
	groups, key := have.generations.reader.Groups(), request.Key
	switch {
	case have.Network.Balancer == nil && have.Classic.Balancer == nil:
		groups.Release(c.Name(key)) // also while one is created: the observation after that claims its rules
	case request.Want == nil: // unknown, or about to be deleted
	case request.Want.Network != nil:
		groups.Claim(have.generations.network.NodeRules(key, request.Want.Network, have.Network))
	default:
		groups.Claim(have.generations.classic.NodeRules(key, request.Want.Classic, have.Classic))
	}
	return have, nil
}

// shareGroups adds the security groups that load balancers of the other generation use to those in use: a rule on nodes
// that refers to a group serves both.
func (o *Observed) shareGroups() {
	usedByNetwork, usedByClassic := o.Network.Groups.Used(), o.Classic.Groups.Used()
	o.Network.Groups = o.Network.Groups.WithUsed(usedByClassic)
	o.Classic.Groups = o.Classic.Groups.WithUsed(usedByNetwork)
}

// observe reads the existing objects.
func (c *Cloud) observe(ctx context.Context, request lbcommon.Request[Desired]) (Observed, error) {
	if request.Depth == lbcommon.Existence {
		return c.inventory(ctx, request)
	}
	g, err := c.generations.Get(ctx)
	if err != nil {
		return Observed{}, err
	}
	key := request.Key
	var want Desired
	if request.Want != nil {
		want = *request.Want
	}
	freshness := func(generation annotation.Type) lbcommon.Freshness {
		if request.Reference.Class == string(generation) {
			return request.Freshness
		}
		return lbcommon.Cached
	}
	have := Observed{generations: g}
	if have.Network, err = g.network.Store().Observe(ctx, key, want.Network, freshness(annotation.Network)); err != nil {
		return Observed{}, err
	}
	have.Classic, err = g.classic.Observe(ctx, key, want.Classic, freshness(annotation.Classic))
	return have, err
}

// inventory is Observe with depth Existence. Authoritative, it reads the generation that the Service selects,
// and the other one if the shared list contains an object of it.
func (c *Cloud) inventory(ctx context.Context, request lbcommon.Request[Desired]) (Observed, error) {
	key, class, fresh := request.Key, request.Reference.Class, request.Freshness
	g, err := c.generations.Get(ctx)
	if err != nil {
		return Observed{}, err
	}
	groups := g.reader.Groups()
	if !c.options.Settings.NoNodeRules {
		if err := groups.Sweep(ctx); err != nil {
			return Observed{}, err
		}
	}
	have, err := g.readLists(ctx, key)
	if err != nil {
		return Observed{}, err
	}
	groups.Find(ruleOwner(key, have))
	// Find may have added groups of the load balancer.
	if have, err = g.readLists(ctx, key); err != nil || fresh == lbcommon.Cached {
		return have, err
	}
	if class == string(annotation.Network) || class == string(annotation.External) ||
		hasChanges(g.network.Diff(key, nil, have.Network)) {
		if have.Network, err = g.network.Store().Inventory(ctx, key, fresh); err != nil {
			return Observed{}, err
		}
	}
	remaining, diffErr := g.classic.Diff(key, nil, have.Classic)
	if class != string(annotation.Network) || diffErr != nil || !remaining.Empty() {
		have.Classic, err = g.classic.Inventory(ctx, key, fresh)
	}
	return have, err
}

// readLists returns the objects of both generations in the shared lists.
func (g *generations) readLists(ctx context.Context, key lbcommon.Key) (Observed, error) {
	have := Observed{generations: g}
	var err error
	if have.Network, err = g.network.Store().Inventory(ctx, key, lbcommon.Cached); err != nil {
		return Observed{}, err
	}
	have.Classic, err = g.classic.Inventory(ctx, key, lbcommon.Cached)
	return have, err
}

// ruleOwner returns the names and groups that identify the rules of a load balancer on nodes.
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

func hasChanges(changes []plan.Change, _ []string, err error) bool {
	return err != nil || len(changes) > 0
}

// Diff implements lbcommon.Cloud. If nothing should exist it removes both generations, whichever the Service selects by
// then.
func (c *Cloud) Diff(key lbcommon.Key, want *Desired, have Observed) (plan.Plan, error) {
	subject := key.Subject()
	switch {
	case want == nil:
		classicPlan, err := have.generations.classic.Diff(key, nil, have.Classic)
		if err != nil {
			return plan.Plan{}, err
		}
		changes, warnings, err := have.generations.network.Diff(key, nil, have.Network)
		return joinPlans(plan.Plan{Subject: subject, Changes: changes, Warnings: warnings}, classicPlan), err
	case want.Network != nil:
		if err := c.refuseChange(key, annotation.Network, have); err != nil {
			return plan.Plan{}, err
		}
		changes, warnings, err := have.generations.network.Diff(key, want.Network, have.Network)
		return plan.Plan{Subject: subject, Changes: changes, Warnings: warnings, Reasons: want.Network.Reasons}, err
	default:
		if err := c.refuseChange(key, annotation.Classic, have); err != nil {
			return plan.Plan{}, err
		}
		p, err := have.generations.classic.Diff(key, want.Classic, have.Classic)
		p.Subject, p.Reasons = subject, want.Classic.Reasons
		return p, err
	}
}

// Bind implements lbcommon.Binder: a plan has steps of both generations and of their security groups.
func (c *Cloud) Bind(key lbcommon.Key, have Observed, p plan.Plan) plan.Plan {
	return have.generations.classic.Bind(key, have.Classic, have.generations.network.Bind(key, p))
}

// DiffMembers implements lbcommon.Cloud, for the existing load balancer of either generation.
func (c *Cloud) DiffMembers(key lbcommon.Key, in intent.Service, all []*v1.Node, shared SharedState,
	have Observed) (plan.Plan, error) {
	options, err := annotation.Read(in)
	members, _ := c.members(nodes.FilterByLabels(all, options.NodeLabels), shared.SharedState)
	if intent.HasProblem(err, annotation.KeyNodeLabels) { // NodeLabels are not set
		members = have.registered(members)
	}
	targets := shared.generations.network.DiffMembers(model.Request{Key: key, Service: in, Options: options,
		Nodes: members, Shared: shared.SharedState}, have.Network)
	instances := shared.generations.classic.DiffMembers(classic.Request{Key: key, Instances: model.InstanceIDs(members),
		Shared: shared.SharedState}, have.Classic)
	return plan.Plan{Subject: key.Subject(), Changes: slices.Concat(targets, instances)}, nil
}

// registered returns the nodes that receive traffic from a load balancer.
func (o Observed) registered(members []model.Node) []model.Node {
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
func (c *Cloud) refuseChange(key lbcommon.Key, want annotation.Type, have Observed) error {
	cluster := have.generations.cluster.ID
	var name, kind, fix string
	switch n, b := have.Network.Balancer, have.Classic.Balancer; {
	case want == annotation.Classic && n != nil && have.Network.ForeignOwner(cluster, key) == "":
		name, kind, fix = n.Name, "network", "set "+annotation.KeyType+" back to nlb"
	case want == annotation.Network && b != nil && tags.ForeignOwner(b.Tags, cluster, key) == "":
		name, kind, fix = b.Name, "classic", "remove "+annotation.KeyType
	default:
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: key.Subject(),
		Err: fmt.Errorf("%s: the Service has the %s load balancer %s, and no load balancer can change its type: %s, or "+
			"delete the Service and create it again, which gives it a new address",
			annotation.KeyType, kind, name, fix)}
}

// Status implements lbcommon.Cloud.
func (c *Cloud) Status(_ intent.Service, have Observed) lbcommon.Status {
	if have.Network.Balancer != nil || have.generations == nil {
		return lbcommon.Status{LoadBalancer: model.Status(have.Network), Failure: model.Failure(have.Network)}
	}
	// Classic load balancers have an address as soon as they exist.
	return lbcommon.Status{LoadBalancer: have.generations.classic.Status(have.Classic)}
}

// joinPlans appends a plan to another one. Both may change one security group: then the second change gets another
// name, and follows the first.
func joinPlans(p, q plan.Plan) plan.Plan {
	used := map[plan.Ref]bool{}
	for _, change := range p.Changes {
		used[change.Ref] = true
	}
	renamed := map[plan.Ref]plan.Ref{}
	for _, change := range q.Changes {
		if used[change.Ref] {
			newRef := change.Ref
			newRef.Name += " (classic)"
			renamed[change.Ref] = newRef
		}
	}
	for _, change := range q.Changes {
		after := make([]plan.Ref, 0, len(change.After)+1)
		for _, ref := range change.After {
			if newRef, ok := renamed[ref]; ok {
				ref = newRef
			}
			after = append(after, ref)
		}
		if newRef, ok := renamed[change.Ref]; ok {
			after = append(after, change.Ref)
			change.Ref = newRef
		}
		change.After = after
		p.Changes = append(p.Changes, change)
	}
	p.Warnings = append(p.Warnings, q.Warnings...)
	return p
}
