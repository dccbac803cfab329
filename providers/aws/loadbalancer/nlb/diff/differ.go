package diff

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/apply"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// The kinds in plans.
const (
	kindBalancer    = observe.KindBalancer
	kindListener    = observe.KindListener
	kindTargetGroup = observe.KindTargetGroup
	kindTargets     = "targets"
	kindTags        = "tags"
	kindAttributes  = "attributes"
	kindCertificate = "certificates"
	kindAddressType = "address type"
	kindGroups      = "security groups of load balancer"
	// kindGroupAttributes are the attributes of a target group.
	kindGroupAttributes = kindTargetGroup + " " + kindAttributes
)

// balancerHandle identifies the load balancer in a plan before it exists.
const balancerHandle plan.Handle = "load balancer"

// Options of the plans of one Service. Write, Groups and Cluster are required.
type Options struct {
	// Write makes the changes. Only their functions use it.
	Write apply.Writer
	// Groups plans the changes of security groups and of the rules in them.
	Groups  *vpc.GroupStore
	Cluster vpc.Cluster
	// NoNodeRules leaves the security groups of nodes unchanged.
	NoNodeRules bool
}

// differ builds one plan.
type differ struct {
	Options
	key      lbcommon.Key
	want     model.Desired
	have     model.Observed
	changes  []plan.Change
	warnings []string
	// opened are the changes that add rules on nodes, closing the indexes of the changes that remove some.
	opened  []plan.Ref
	closing []int
	// order are the changes that target groups and listeners wait for if they are made.
	order []plan.Ref
	// keptPorts are ports of the Service that get no listener. One that exists there stays.
	keptPorts []int32
	// creationTags are tags of a new load balancer in addition to those of all its objects.
	creationTags map[string]string
}

// newDiffer returns a differ for the existing objects of one Service.
func newDiffer(o Options, have model.Observed) *differ {
	return &differ{Options: o, key: o.Write.Key, have: have}
}

func (d *differ) add(changes ...plan.Change) { d.changes = append(d.changes, changes...) }

func (d *differ) warnf(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

// name returns the name of the load balancer.
func (d *differ) name() string {
	if b := d.have.Balancer; b != nil {
		return b.Name
	}
	return cmp.Or(d.want.Name, model.DefaultName(d.key))
}

// balancerARN returns the ARN of the existing load balancer, or of the one that this plan has created.
func (d *differ) balancerARN(ids *plan.Handles) (string, error) {
	if b := d.have.Balancer; b != nil {
		return b.ARN, nil
	}
	return ids.ID(balancerHandle)
}

func (d *differ) listenerOn(port int32) (model.Listener, bool) { return listenerOn(d.have, port) }

func listenerOn(have model.Observed, port int32) (model.Listener, bool) {
	for _, l := range have.Listeners {
		if l.Port == port {
			return l, true
		}
	}
	return model.Listener{}, false
}

func (d *differ) servingGroup(l model.Listener) (model.TargetGroup, bool) {
	return servingGroup(d.have, l)
}

// servingGroup returns the target group that gets the new connections of a listener.
func servingGroup(have model.Observed, l model.Listener) (model.TargetGroup, bool) {
	if len(l.Forwards) == 0 {
		return model.TargetGroup{}, false
	}
	heaviest := slices.MaxFunc(l.Forwards, func(a, b model.Forward) int { return cmp.Compare(a.Weight, b.Weight) })
	return have.Group(heaviest.Group)
}

// unmarked reports whether a target group is the Service's although its tags do not name it, as older releases
// of cloud-provider-aws left them, and jobs that remove tags: it has a name of the Service, and only the load balancer
// uses it.
func (d *differ) unmarked(g model.TargetGroup) bool {
	b := d.have.Balancer
	return b != nil && g.Tags != nil && tags.OtherOwner(g.Tags, d.Cluster.ID, d.key) == "" &&
		!tags.IsFor(g.Tags, d.Cluster.ID, d.key) && slices.Equal(g.Balancers, []string{b.ARN}) &&
		names.IsTargetGroupOf(g.Name, tags.Service(d.key))
}

// keepGroup reports whether a target group stays when the Service is deleted: a foreign load balancer uses
// it, or its tags do not name this Service's cluster.
func (d *differ) keepGroup(g model.TargetGroup) bool {
	foreign := g.Tags != nil && tags.ForeignOwner(g.Tags, d.Cluster.ID, d.key) != ""
	if len(g.Balancers) > 1 || foreign && !d.unmarked(g) {
		return true
	}
	if len(g.Balancers) == 0 {
		return false
	}
	b := d.have.Balancer
	return b == nil || d.have.ForeignOwner(d.Cluster.ID, d.key) != "" || g.Balancers[0] != b.ARN
}

// foreignGroup reports whether a target group has another owner, such as one that a user attached.
func (d *differ) foreignGroup(g model.TargetGroup) bool {
	return g.Tags != nil && d.keepGroup(g)
}

// difference returns the items that are not among others.
func difference(items, others []string) []string {
	return slices.DeleteFunc(slices.Clone(items), func(s string) bool { return slices.Contains(others, s) })
}

// reference is a target group or a listener: an existing one, with its ARN, or one that the plan creates.
type reference struct{ kind, name, arn string }

func (r reference) handle() plan.Handle { return plan.Handle(r.kind + " " + r.name) }

func (r reference) resolve(ids *plan.Handles) (string, error) {
	if r.arn != "" {
		return r.arn, nil
	}
	return ids.ID(r.handle())
}

// withARN returns the function of a change of an object that exists when the change is made.
func withARN(resolve func(*plan.Handles) (string, error), do func(ctx context.Context, arn string) error,
) func(context.Context, *plan.Handles) error {
	return func(ctx context.Context, ids *plan.Handles) error {
		arn, err := resolve(ids)
		if err != nil {
			return err
		}
		return do(ctx, arn)
	}
}

// withBalancer is withARN for an object that the load balancer uses. It also passes the ARN of the load balancer.
func (d *differ) withBalancer(r reference, do func(ctx context.Context, balancer, arn string) error,
) func(context.Context, *plan.Handles) error {
	return func(ctx context.Context, ids *plan.Handles) error {
		balancer, err := d.balancerARN(ids)
		if err != nil {
			return err
		}
		arn, err := r.resolve(ids)
		if err != nil {
			return err
		}
		return do(ctx, balancer, arn)
	}
}

// listenerKey identifies the listener of a port in plans.
func listenerKey(port int32) string { return plan.ShowInt(port) }

// mustReplace reports whether a listener has to be deleted before the desired one can be created on its port. A
// listener changes between TCP and TLS in place, but not to and from UDP.
func mustReplace(have model.Listener, want model.DesiredListener) bool {
	stream := func(protocol string) bool { return protocol == model.ProtocolTCP || protocol == model.ProtocolTLS }
	return have.Protocol != want.Protocol && (!stream(have.Protocol) || !stream(want.Protocol))
}
