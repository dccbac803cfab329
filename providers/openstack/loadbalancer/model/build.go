package model

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	commonnodes "github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Build returns the objects that should exist for a Service. It is pure. An existing load balancer keeps its provider,
// which determines what it can do, and which is not known here: the error has problems with every provider, and
// Desired.For returns the others.
func Build(i Input) (Desired, error) {
	d, err := i.build(i.Settings.Provider)
	d.input, d.refusal = i, err
	if err == nil {
		return d, nil
	}
	other := ProviderOVN
	if i.Settings.Provider == ProviderOVN {
		other = "amphora"
	}
	if _, otherErr := i.build(other); otherErr != nil {
		return d, err
	}
	return d, nil
}

// NeedsSubnets reports whether only the project's subnets show in which one a new load balancer gets its address: there
// is no existing one, or one in another subnet, of another family or with another address than the Service chooses,
// which may be replaced. In a cluster without IPv6
// addresses the configured subnet is taken for an IPv4 one, so that a creation there needs no further call.
func (d Desired) NeedsSubnets(lb *api.LoadBalancer) bool {
	want, family := d.LoadBalancer, d.Families[0]
	switch {
	case lb != nil && want.movesAddress(*lb):
		return true
	case want.PortID != "", want.inNodeSubnet, want.SubnetID == "" && want.NetworkID == "":
		return false
	case want.SubnetID == "" && (want.Address != "" || lb != nil && family == v1.IPv4Protocol):
		return false // Octavia selects the subnet of the address, and prefers IPv4
	case lb == nil && family == v1.IPv4Protocol && !want.isOfService() && !hasIPv6(d.input.Nodes):
		return false
	}
	return lb == nil || want.SubnetID != lb.VipSubnetID || FamilyOf(lb.VipAddress) != family
}

// movesAddress reports whether a load balancer gets the address that the Service chooses only by its replacement in the
// subnet.
func (lb LoadBalancer) movesAddress(have api.LoadBalancer) bool {
	return lb.PortID == "" && lb.SubnetID != "" && lb.Address != "" && !SameIP(lb.Address, have.VipAddress)
}

// IsUnplaced reports whether the subnets of the project lack the one that is named, or one of the Service's family.
func (d Desired) IsUnplaced(lb *api.LoadBalancer, subnets map[string]api.Subnet) bool {
	return d.withSubnets(lb, subnets).LoadBalancer.unplaced
}

// withSubnets returns the objects for a place that depends on the project's subnets. An existing load balancer in the
// subnet that is named stays there.
func (d Desired) withSubnets(lb *api.LoadBalancer, subnets map[string]api.Subnet) Desired {
	if subnets == nil || lb != nil && lb.VipSubnetID == d.LoadBalancer.SubnetID {
		return d
	}
	in := d.input
	in.subnets = subnets
	out, err := in.build(in.Settings.Provider)
	out.input, out.refusal, out.Kept = in, err, d.Kept
	return out
}

// For returns the objects for an existing load balancer, whose provider may not be the configured one, or for a new one
// if lb is nil. subnets are the project's, by ID; nil if NeedsSubnets is false. The error has the problems of the
// Service with that provider.
func (d Desired) For(lb *api.LoadBalancer, subnets map[string]api.Subnet) (Desired, error) {
	d = d.withSubnets(lb, subnets)
	switch {
	case lb == nil:
		return d, intent.Join(d.input.subject(), d.refusal, d.creation)
	case lb.Provider == "", (lb.Provider == ProviderOVN) == d.Features.OVN:
		return d, d.refusal
	}
	other, err := d.input.build(lb.Provider)
	other.input, other.refusal, other.LoadBalancer.Provider, other.Kept = d.input, err, d.LoadBalancer.Provider, d.Kept
	return other, err
}

// WithPlace returns the objects for a load balancer that keeps a part of its place.
func (d Desired) WithPlace(kept KeptPlace) Desired {
	in := d.input
	in.kept = kept
	out, err := in.build(in.Settings.Provider)
	out.input, out.refusal, out.Kept = in, err, d.Kept
	return out
}

// subject returns the name of the Service in problems.
func (i Input) subject() string { return i.Service.Subject() }

// build returns the objects for load balancers of a provider.
func (i Input) build(octaviaProvider string) (Desired, error) {
	b := builder{key: i.Key, in: i.Service, settings: i.Settings, shared: i.Shared, serverID: i.ServerID,
		subnets: i.subnets, provider: octaviaProvider,
		kept: i.kept}
	b.shared.Features.OVN = octaviaProvider == ProviderOVN
	return b.build(i.Nodes)
}

func (b *builder) build(nodes []*v1.Node) (Desired, error) {
	var err error
	b.options, err = annotation.Read(b.in)
	b.problems, b.creation = b.options.NewProblems(), b.options.NewProblems()
	b.internal = b.settings.Internal || b.options.Internal != nil && *b.options.Internal
	if b.options.Class != "" {
		class, ok := b.settings.Classes[b.options.Class]
		if !ok {
			b.problems.Add(annotation.KeyClass, b.options.Class, "the configuration has no section [LoadBalancerClass "+
				"\""+b.options.Class+"\"]: write one that it has, or add it")
		}
		b.class = class
	}
	d := Desired{
		Name: names.LoadBalancer(b.key.ClusterName, b.service()), Reference: b.options.LoadBalancerID,
		Guests:   b.options.Guests,
		Features: b.shared.Features, Families: b.in.Families, MaxShared: ptr.Deref(b.settings.MaxShared, 0),
		Serial:         b.settings.Serial,
		ProbedForLocal: b.probedForLocal(),
		Internal:       b.internal, MemberNote: b.in.Annotations[annotation.KeyMembers],
		FailoverRefused: b.in.Annotations[annotation.KeyFailoverRefused],
		Fields:          b.in.Fields,
		Sources:         b.options.Sources,
	}
	d.LoadBalancer = b.loadBalancer()
	d.FloatingIP = b.floatingIP()
	d.MemberSubnet = b.memberSubnet(d.LoadBalancer)
	members := b.members(nodes, d.MemberSubnet.ID)
	b.unowned = b.nodesWithAddress(commonnodes.FilterByLabels(b.shared.Unowned, b.selector()), d.MemberSubnet.ID)
	for i, port := range b.in.Ports {
		d.Ports = append(d.Ports, b.port(d.Name, i, port, members))
	}
	b.check()
	if b.settings.ManageSecurityGroups {
		d.Group = b.group(d.Ports, members)
	}
	d.Warnings, d.Reasons = b.warnings, b.reasons
	d.creation = b.creation.Err(b.subject())
	return d, intent.Join(b.subject(), err, b.problems.Err(b.subject()))
}
