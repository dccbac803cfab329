package sim

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type classicListenerView struct {
	Protocol         string `xml:"Protocol"`
	Port             int32  `xml:"LoadBalancerPort"`
	InstanceProtocol string `xml:"InstanceProtocol"`
	InstancePort     int32  `xml:"InstancePort"`
	Certificate      string `xml:"SSLCertificateId,omitempty"`
}

type listenerDescription struct {
	Listener classicListenerView   `xml:"Listener"`
	Policies query.Members[string] `xml:"PolicyNames"`
}

type backendView struct {
	Port     int32                 `xml:"InstancePort"`
	Policies query.Members[string] `xml:"PolicyNames"`
}

type policyNames struct {
	App   query.Members[nothing] `xml:"AppCookieStickinessPolicies"`
	LB    query.Members[nothing] `xml:"LBCookieStickinessPolicies"`
	Other query.Members[string]  `xml:"OtherPolicies"`
}

type instanceRef struct {
	InstanceID string `q:"InstanceId" xml:"InstanceId"`
}

type sourceGroup struct {
	Owner string `xml:"OwnerAlias"`
	Name  string `xml:"GroupName"`
}

type classicView struct {
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
	Check      classicCheck                       `xml:"HealthCheck"`
	SourceInfo sourceGroup                        `xml:"SourceSecurityGroup"`
	Groups     query.Members[string]              `xml:"SecurityGroups"`
	Made       string                             `xml:"CreatedTime"`
	Scheme     string                             `xml:"Scheme"`
}

func (t *tx) viewClassic(b *classic) classicView {
	v := classicView{
		Name: b.name, DNS: b.dns, ZoneID: hostedZone, Subnets: query.MembersOf(b.subnets), VPC: b.vpc, Check: b.check,
		Groups: query.MembersOf(b.groups), Made: timestamp(b.made), Scheme: b.scheme,
		SourceInfo: sourceGroup{Owner: t.o.Account},
	}
	if b.scheme == schemePublic {
		v.Zone = b.dns
	}
	if g := t.groups[b.groups[0]]; g != nil {
		v.SourceInfo.Name = g.name
	}
	for _, l := range b.listeners {
		v.Listeners.Member = append(v.Listeners.Member, listenerDescription{
			Listener: classicListenerView{l.Protocol, l.LoadBalancerPort, l.InstanceProtocol, l.InstancePort,
				l.SSLCertificateID},
			Policies: query.MembersOf(l.policies),
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
		v.Zones.Member = append(v.Zones.Member, t.subnets[s].zone)
	}
	slices.Sort(v.Zones.Member)
	v.Instances = refsOf(b.instances)
	return v
}

func refsOf(ids []string) query.Members[instanceRef] {
	var out []instanceRef
	for _, id := range ids {
		out = append(out, instanceRef{id})
	}
	return query.MembersOf(out)
}
