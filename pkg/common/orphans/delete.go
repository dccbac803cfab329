package orphans

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Outcome is what happened to an orphan.
type Outcome string

// The closed set of outcomes.
const (
	Deleted Outcome = "deleted"
	Refused Outcome = "refused"
	Failed  Outcome = "failed"
	// NotTried: an earlier deletion failed, or the deletion was interrupted.
	NotTried Outcome = "not tried"
)

// Deletion is the outcome of one orphan.
type Deletion struct {
	inventory.Entry
	Outcome Outcome
	// Detail is the reason, unless the orphan was deleted.
	Detail string
}

// Removal is the plan for the orphans of one deleted Service or of the whole cluster, or for the orphaned routes.
type Removal struct {
	Plan plan.Plan

	orphans  []inventory.Entry
	refusals []inventory.Refusal
	err      error
	kinds    []inventory.Kind
	// apply makes the plan again from a new read, and applies what is approved.
	apply func(ctx context.Context, approve loadbalancer.ApproveFunc) (plan.Result, error)
	// confirm returns an error unless the orphans are still orphans.
	confirm func(ctx context.Context) error
}

// Refused returns the outcomes of orphans that are refused without a plan.
func (a *Audit) Refused() []Deletion {
	var refused []Deletion
	for _, e := range a.Report.Entries {
		if e.State == inventory.Orphaned && e.Refusal != "" {
			refused = append(refused, Deletion{e, Refused, e.Refusal})
		}
	}
	return refused
}

// Removals plans the deletion of all other orphans. It changes nothing.
func (a *Audit) Removals(ctx context.Context) []Removal {
	var all []Removal
	for _, o := range a.Report.OrphanGroups() {
		all = append(all, a.planRemoval(ctx, o))
	}
	routes := slices.DeleteFunc(slices.Clone(a.Report.Entries), func(e inventory.Entry) bool {
		return e.Kind != inventory.KindRoute || !e.Deletable()
	})
	if len(routes) > 0 {
		all = append(all, a.planRouteRemoval(ctx, routes))
	}
	return all
}

// planRemoval plans the removal of the orphans of one Service, through the same path as the manager's deletions.
func (a *Audit) planRemoval(ctx context.Context, o inventory.OrphanGroup) Removal {
	s := a.session
	r := Removal{orphans: o.Orphans, kinds: a.Inventory.Kinds}
	balancers, _ := s.Cloud.LoadBalancer()
	planning, ok := balancers.(loadbalancer.Interface)
	if !ok {
		r.err = errors.New("the provider has no load balancers")
		return r
	}
	r.apply = func(ctx context.Context, approve loadbalancer.ApproveFunc) (plan.Result, error) {
		return planning.RemoveOrphans(ctx, s.ClusterName, o.Service, approve)
	}
	r.confirm = func(ctx context.Context) error { return a.confirmDeleted(ctx, o) }
	if o.Service.Name == "" {
		r.confirm = a.confirmNoLoadBalancers
	}
	removal, err := planning.PlanLoadBalancer(ctx, s.ClusterName, o.Service, nil, loadbalancer.PlanOptions{Remove: true})
	if o.Service.Name == "" {
		removal.Subject = "objects of the whole cluster"
	}
	return r.withSelection(removal, err)
}

// planRouteRemoval plans the removal of orphaned routes as a part of the plan of all routes.
func (a *Audit) planRouteRemoval(ctx context.Context, routes []inventory.Entry) Removal {
	r := Removal{orphans: routes, kinds: a.Inventory.Kinds, confirm: func(ctx context.Context) error {
		return a.confirmUnneeded(ctx, routes)
	}}
	read := func(ctx context.Context) (plan.Plan, error) {
		nodes, err := a.session.Nodes(ctx)
		if err != nil {
			return plan.Plan{}, err
		}
		return a.session.PlanRoutes(ctx, nodes)
	}
	r.apply = func(ctx context.Context, approve loadbalancer.ApproveFunc) (plan.Result, error) {
		changes, err := read(ctx)
		if err != nil {
			return plan.Result{}, err
		}
		approved, err := approve(ctx, changes)
		if err != nil {
			return plan.Result{}, err
		}
		return approved.Apply(ctx, plan.ApplyOptions{})
	}
	changes, err := read(ctx)
	return r.withSelection(changes, err)
}

// withSelection adds the part of a plan that deletes the orphans.
func (r Removal) withSelection(p plan.Plan, err error) Removal {
	if r.err = err; err == nil {
		r.Plan, r.refusals = inventory.Select(p, r.orphans, r.kinds)
		r.Plan.Warnings = nil // they are about the refusals
	}
	return r
}

// Apply deletes the orphans of a removal. Each is read again before it is deleted. An interrupted call has deleted a
// part of them, and a new audit finds the others.
func (r Removal) Apply(ctx context.Context) []Deletion {
	if r.err != nil || r.Plan.Empty() {
		return r.outcomes(nil, r.err)
	}
	if err := ctx.Err(); err != nil {
		return r.outcomes(nil, err)
	}
	planned := r.Plan
	var once sync.Once
	approve := func(ctx context.Context, current plan.Plan) (plan.Plan, error) {
		if err := r.confirm(ctx); err != nil {
			return plan.Plan{}, err
		}
		approved, refusals := inventory.Select(current, r.orphans, r.kinds)
		approved.Changes = slices.DeleteFunc(approved.Changes, func(c plan.Change) bool { return !planned.Has(c) })
		once.Do(func() { r.Plan, r.refusals = approved, refusals })
		return approved, nil
	}
	result, err := r.apply(ctx, approve)
	return r.outcomes(result.Outcomes, err)
}

// confirmDeleted returns an error unless the API server reports that the Service does not exist, or that the orphans
// belong to an earlier one of its name.
func (a *Audit) confirmDeleted(ctx context.Context, o inventory.OrphanGroup) error {
	name := o.Service.Namespace + "/" + o.Service.Name
	live, err := a.session.Client.CoreV1().Services(o.Service.Namespace).Get(ctx, o.Service.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("nothing proves that Service %s is deleted: %w", name, err)
	}
	if a.mayBelongTo(ctx, o, live) {
		return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "Service " + name,
			Err: errors.New("the Service exists now; run the audit again")}
	}
	return nil
}

// confirmNoLoadBalancers returns an error if a Service has or needs a load balancer, which may be about to use the
// objects of the whole cluster.
func (a *Audit) confirmNoLoadBalancers(ctx context.Context) error {
	services, err := a.session.Services(ctx)
	if err != nil {
		return fmt.Errorf("nothing proves that no Service needs a load balancer: %w", err)
	}
	i := slices.IndexFunc(services, loadbalancer.IsReconciled)
	if i < 0 {
		return nil
	}
	name := services[i].Namespace + "/" + services[i].Name
	return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "Service " + name,
		Err: errors.New("it needs a load balancer, and objects of the whole cluster stay until no Service does")}
}

// confirmUnneeded returns an error if a node has the pod CIDR of an orphaned route. It reads the nodes after the plan
// has listed the routes: a node that joins in between may have created its route.
func (a *Audit) confirmUnneeded(ctx context.Context, routes []inventory.Entry) error {
	nodes, err := a.session.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		for _, cidr := range node.Spec.PodCIDRs {
			needs := func(e inventory.Entry) bool { return e.Name == cidr }
			if slices.ContainsFunc(routes, needs) {
				return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "route " + cidr,
					Err: fmt.Errorf("node %s has this pod CIDR now; run the audit again", node.Name)}
			}
		}
	}
	return nil
}

// mayBelongTo reports whether any of the orphans may belong to a Service.
func (a *Audit) mayBelongTo(ctx context.Context, o inventory.OrphanGroup, service *v1.Service) bool {
	described := Describe(ctx, a.session.Cloud, a.session.ClusterName, service)
	return slices.ContainsFunc(o.Orphans, func(e inventory.Entry) bool { return e.Owners[0].Identifies(described) })
}

// outcomes returns what happened to each orphan. steps are the outcomes of the changes of the plan.
func (r Removal) outcomes(steps []plan.Outcome, err error) []Deletion {
	all := make([]Deletion, 0, len(r.orphans))
	byID := map[string]Deletion{}
	for _, e := range r.orphans {
		d := Deletion{Entry: e, Outcome: NotTried}
		if err != nil {
			d.Detail = cloudapi.OneLine(err)
		}
		if len(steps) == 0 && err != nil {
			d.Outcome = Failed
		}
		if i := slices.IndexFunc(r.refusals, func(f inventory.Refusal) bool {
			return f.Object.Kind == e.Kind && f.Object.ID == e.ID
		}); i >= 0 {
			d.Outcome, d.Detail = Refused, r.refusals[i].Reason
		}
		for i, c := range r.Plan.Changes {
			if e.RemovedBy(c) && i < len(steps) {
				d = d.withOutcome(steps[i])
			}
		}
		byID[e.ID] = d
		all = append(all, d)
	}
	for i, d := range all {
		parent, ok := byID[d.Parent]
		if d.Parent != "" && ok && d.Outcome == NotTried {
			all[i].Outcome, all[i].Detail = parent.Outcome, "with "+parent.Kind+" "+parent.Name
		}
	}
	return all
}

// withOutcome returns the outcome after a step of the plan.
func (d Deletion) withOutcome(step plan.Outcome) Deletion {
	switch {
	case step.Err != nil:
		d.Outcome, d.Detail = Failed, cloudapi.OneLine(step.Err)
	case step.Status == plan.Done:
		d.Outcome, d.Detail = Deleted, ""
	case step.Status != plan.Pending:
		d.Outcome = Failed
	}
	return d
}
