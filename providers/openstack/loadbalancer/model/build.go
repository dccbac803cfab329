package model

import (
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	commonnodes "github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Build returns the objects that should exist for a Service. It is pure.
func Build(i Input) (Desired, error) {
	b := builder{key: i.Key, in: i.Service, settings: i.Settings, shared: i.Shared, serverID: i.ServerID}
	return b.build(i.Nodes)
}

func (b *builder) build(nodes []*v1.Node) (Desired, error) {
	var err error
	b.options, err = annotation.Read(b.in)
	b.problems = b.options.NewProblems()
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
		Features: b.shared.Features, Families: b.in.Families, MaxShared: b.settings.MaxShared, Serial: b.settings.Serial,
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
	return d, intent.Join(b.subject(), err, b.problems.Err(b.subject()))
}
