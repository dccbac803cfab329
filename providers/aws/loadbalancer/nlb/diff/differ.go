package diff

import (
	"cmp"
	"fmt"
	"slices"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// The kinds in plans.
const (
	kindBalancer    = model.KindBalancer
	kindListener    = model.KindListener
	kindTargetGroup = model.KindTargetGroup
	kindTargets     = "targets"
	kindTags        = "tags"
	kindAttributes  = "attributes"
	kindCertificate = "certificates"
	kindAddressType = "address type"
	kindGroups      = "security groups of load balancer"
	// kindGroupAttributes are the attributes of a target group.
	kindGroupAttributes = kindTargetGroup + " " + kindAttributes
)

// The fields of changes that disrupt.
const (
	fieldProtocol    = "protocol"
	fieldTargetGroup = "targetGroup"
	fieldPolicy      = "sslPolicy"
	fieldAddressType = "addressType"
	fieldSourceNAT   = "enablePrefixForIpv6SourceNat"
	// fieldSubnets begins the name of the field of each zone.
	fieldSubnets = "subnets"
)

// Options of the plans of one Service. Key and Cluster are required.
type Options struct {
	Key     lbcommon.Key
	Cluster vpc.Cluster
	// NoNodeRules leaves the security groups of nodes unchanged.
	NoNodeRules bool
}

// differ builds one plan.
type differ struct {
	Options
	want     model.Desired
	have     model.Observed
	changes  []plan.Change
	warnings []string
	// opened are the changes that add rules on nodes, closing the indexes of the changes that remove some.
	opened  []plan.Ref
	closing []int
	// allowed are the changes that add rules to the managed security group.
	allowed []plan.Ref
	// left is the change by which the load balancer leaves security groups: the removal of rules that refer to them waits
	// for it.
	left []plan.Ref
	// order are the changes that target groups and listeners wait for if they are made.
	order []plan.Ref
	// keptPorts are ports of the Service that get no listener. One that exists there stays.
	keptPorts []int32
}

// newDiffer returns a differ for the existing objects of one Service.
func newDiffer(o Options, have model.Observed) *differ {
	return &differ{Options: o, have: have}
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
	return cmp.Or(d.want.Name, model.DefaultName(d.Key))
}

// balancer returns the existing load balancer, or the one that this plan creates.
func (d *differ) balancer() reference {
	r := reference{kind: kindBalancer, name: d.name()}
	if b := d.have.Balancer; b != nil {
		r.arn = b.ARN
	}
	return r
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
	return b != nil && g.Tags != nil && tags.OtherOwner(g.Tags, d.Cluster.ID, d.Key) == "" &&
		!tags.IsFor(g.Tags, d.Cluster.ID, d.Key) && slices.Equal(g.Balancers, []string{b.ARN}) &&
		names.IsTargetGroupOf(g.Name, tags.Service(d.Key))
}

// keepGroup reports whether a target group stays when the Service is deleted: a foreign load balancer uses
// it, or its tags do not name this Service's cluster.
func (d *differ) keepGroup(g model.TargetGroup) bool {
	foreign := g.Tags != nil && tags.ForeignOwner(g.Tags, d.Cluster.ID, d.Key) != ""
	if len(g.Balancers) > 1 || foreign && !d.unmarked(g) {
		return true
	}
	if len(g.Balancers) == 0 {
		return false
	}
	b := d.have.Balancer
	return b == nil || d.have.ForeignOwner(d.Cluster.ID, d.Key) != "" || g.Balancers[0] != b.ARN
}

// foreignGroup reports whether a target group has another owner, such as one that a user attached.
func (d *differ) foreignGroup(g model.TargetGroup) bool {
	return g.Tags != nil && d.keepGroup(g)
}

// difference returns the items that are not among others.
func difference(items, others []string) []string {
	return slices.DeleteFunc(slices.Clone(items), func(s string) bool { return slices.Contains(others, s) })
}

// listenerKey identifies the listener of a port in plans.
func listenerKey(port int32) string { return plan.ShowInt(port) }

// mustReplace reports whether a listener may have to be deleted before the desired one can be created on its port. A
// listener changes between TCP and TLS in place, but AWS refuses some changes to and from UDP.
func mustReplace(have model.Listener, want model.DesiredListener) bool {
	stream := func(protocol string) bool { return protocol == model.ProtocolTCP || protocol == model.ProtocolTLS }
	return have.Protocol != want.Protocol && (!stream(have.Protocol) || !stream(want.Protocol))
}

// atCreation returns the row of a field that only the creation of an object sets: a change of it has a call of its own,
// or is impossible.
func atCreation[T any](name string, value rows.Value[T]) rows.Row[T, T] {
	return rows.Row[T, T]{Name: name, Value: value, Ignore: func(T, T) bool { return true }}
}
