package classic

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type listenerDescription struct {
	Listener listener              `xml:"Listener"`
	Policies query.Members[string] `xml:"PolicyNames"`
}

type backendView struct {
	Port     int32                 `xml:"InstancePort"`
	Policies query.Members[string] `xml:"PolicyNames"`
}

type policyNames struct {
	App   query.Members[core.Nothing] `xml:"AppCookieStickinessPolicies"`
	LB    query.Members[core.Nothing] `xml:"LBCookieStickinessPolicies"`
	Other query.Members[string]       `xml:"OtherPolicies"`
}

type instanceRef struct {
	InstanceID string `q:"InstanceId" xml:"InstanceId"`
}

type sourceGroup struct {
	Owner string `xml:"OwnerAlias"`
	Name  string `xml:"GroupName"`
}

type balancerView struct {
	Name       string                             `xml:"LoadBalancerName"`
	DNS        string                             `xml:"DNSName"`
	Zone       string                             `xml:"CanonicalHostedZoneName,omitempty"`
	ZoneID     string                             `xml:"CanonicalHostedZoneNameID"`
	Listeners  query.Members[listenerDescription] `xml:"ListenerDescriptions"`
	Policies   policyNames                        `xml:"Policies"`
	Backends   query.Members[backendView]         `xml:"BackendServerDescriptions"`
	Zones      query.Members[string]              `xml:"AvailabilityZones"`
	Subnets    query.Members[string]              `xml:"Subnets"`
	VPC        string                             `xml:"VPCId"`
	Instances  query.Members[instanceRef]         `xml:"Instances"`
	Check      healthCheck                        `xml:"HealthCheck"`
	SourceInfo sourceGroup                        `xml:"SourceSecurityGroup"`
	Groups     query.Members[string]              `xml:"SecurityGroups"`
	Created    string                             `xml:"CreatedTime"`
	Scheme     string                             `xml:"Scheme"`
}

func (t *Tx) viewBalancer(b *balancer) balancerView {
	v := balancerView{
		Name: b.name, DNS: b.dns, ZoneID: elb.HostedZone, Subnets: query.MembersOf(b.subnets), VPC: b.VPC, Check: b.check,
		Groups: query.MembersOf(b.groups), Created: ec2.Timestamp(b.created), Scheme: b.scheme,
		SourceInfo: sourceGroup{Owner: t.Options.Account},
	}
	if b.scheme == elb.SchemePublic {
		v.Zone = b.dns
	}
	if g := t.Groups[b.groups[0]]; g != nil {
		v.SourceInfo.Name = g.Name
	}
	for _, l := range b.listeners {
		v.Listeners.Member = append(v.Listeners.Member, listenerDescription{
			Listener: *l, Policies: query.MembersOf(l.policies),
		})
	}
	for _, p := range b.policies {
		v.Policies.Other.Member = append(v.Policies.Other.Member, p.name)
	}
	for port, names := range b.backends {
		v.Backends.Member = append(v.Backends.Member, backendView{port, query.MembersOf(names)})
	}
	slices.SortFunc(v.Backends.Member, func(a, b backendView) int { return int(a.Port - b.Port) })
	for _, s := range b.subnets {
		v.Zones.Member = append(v.Zones.Member, t.Subnets[s].Zone)
	}
	slices.Sort(v.Zones.Member)
	v.Instances = instanceRefs(b.instances)
	return v
}

func instanceRefs(ids []string) query.Members[instanceRef] {
	var out []instanceRef
	for _, id := range ids {
		out = append(out, instanceRef{id})
	}
	return query.MembersOf(out)
}
