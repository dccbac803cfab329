package classic

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// Desire computes the objects that should exist for a Service. It is pure and returns all problems joined.
func (c *Cloud) Desire(r Request) (Desired, error) {
	in, o := r.Service, r.Options
	problems := o.NewProblems()
	o.WarnNetworkOnly(in.Annotations)
	d := Desired{
		Name: Name(r.Key), Scheme: schemePublic, TLSPolicy: o.TLSPolicy, ProxyProtocol: o.ProxyProtocol,
		Attributes: desireAttributes(o), Instances: filterRegistrable(r.Instances, r.Shared.Instances),
		Unread: r.unread(),
		Tags:   tags.Desired(c.options.Cluster.ID, c.options.Cluster.Legacy, r.Key, o.Tags),
	}
	if o.Internal {
		d.Scheme = schemeInternal
	}
	switch {
	case len(o.SecurityGroups) > 0:
		d.Reasons = vpc.CheckRanges(in, annotation.KeySecurityGroups, &problems)
	case c.options.SecurityGroup != "":
		d.Reasons = vpc.CheckRanges(in, c.options.SecurityGroup+" (ElbSecurityGroup in the cloud configuration)", &problems)
	}
	tags.Check(c.options.Cluster.ID, o.Tags, in.Tags, annotation.KeyTags, &problems)
	o.Warnings = append(o.Warnings, tags.Warnings(o.Tags, annotation.KeyTags)...)
	d.Listeners = desireListeners(in, o, &problems)
	d.HealthCheck = c.desireHealthCheck(in, o, &problems)
	if len(in.Ports) > 0 {
		d.probed = in.Ports[0].Port
		d.probe = func(l Listener) string { return c.probeTarget(in, o, l.probeProtocol(), l.InstancePort) }
	}
	if !strings.HasPrefix(d.HealthCheck.Target, protocolHTTP) {
		o.WarnUnusedPath(in.Annotations)
	}
	d.Warnings, d.Refusal = slices.AppendSeq(o.Warnings, maps.Keys(d.Reasons)), refuseIPv6(in)
	d.desireGroups(c.options, r)
	subnetErr := d.desireSubnets(r)
	if !c.options.NoNodeRules {
		d.NodeGroups = vpc.NodeGroupsOf(r.Shared, d.Instances)
	}
	d.Record = d.record(in.Fields)
	subject := in.Subject()
	err := intent.Join(subject, problems.Err(subject), subnetErr)
	if err != nil {
		err = intent.Join(subject, err, d.NodeGroups.Problem)
	}
	return d, err
}

// refuseIPv6 returns an error if the Service requires IPv6: classic load balancers support only IPv4.
func refuseIPv6(in intent.Service) error {
	problems := in.NewProblems()
	if !slices.Contains(in.Families, v1.IPv4Protocol) {
		problems.Addf("spec.ipFamilies", "IPv6", "classic load balancers have IPv4 only: add IPv4, or set %s to nlb on a "+
			"new Service", annotation.KeyType)
	}
	if in.RequiresDualStack {
		problems.Addf("spec.ipFamilyPolicy", string(v1.IPFamilyPolicyRequireDualStack), "classic load balancers have IPv4 "+
			"only: write PreferDualStack, or set %s to nlb on a new Service", annotation.KeyType)
	}
	return problems.Err(in.Subject())
}

func (d *Desired) desireSubnets(r Request) error {
	request := vpc.Request{Scheme: intent.Public, IDsOrNames: r.Options.Subnets,
		Annotation: r.Options.Sources.FieldOf(annotation.KeySubnets)}
	if r.Options.Internal {
		request.Scheme = intent.Internal
	}
	subnets, err := vpc.Select(r.Shared, request)
	d.Listed = r.Options.Subnets != nil
	d.Subnets = slices.Sorted(slices.Values(vpc.SubnetIDs(subnets)))
	d.Zones, d.InstanceZones = r.Shared.ZonesOfSubnets(), r.Shared.ZonesOfInstances(d.Instances)
	return err
}
