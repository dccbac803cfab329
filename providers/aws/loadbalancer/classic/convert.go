package classic

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
)

func toBalancer(in elbtypes.LoadBalancerDescription) Balancer {
	b := Balancer{
		Name: aws.ToString(in.LoadBalancerName), DNS: aws.ToString(in.DNSName), Scheme: aws.ToString(in.Scheme),
		VPC: aws.ToString(in.VPCId), Created: aws.ToTime(in.CreatedTime),
		Subnets: in.Subnets, Groups: in.SecurityGroups, Instances: fromInstances(in.Instances),
		Backends: map[int32][]string{},
	}
	for _, l := range in.ListenerDescriptions {
		if l.Listener == nil {
			continue
		}
		b.Listeners = append(b.Listeners, Listener{
			Protocol: aws.ToString(l.Listener.Protocol), Port: l.Listener.LoadBalancerPort,
			InstanceProtocol: aws.ToString(l.Listener.InstanceProtocol), InstancePort: aws.ToInt32(l.Listener.InstancePort),
			Certificate: aws.ToString(l.Listener.SSLCertificateId), Policies: l.PolicyNames,
		})
	}
	sorting.Func(b.Listeners, compareListeners)
	for _, backend := range in.BackendServerDescriptions {
		b.Backends[aws.ToInt32(backend.InstancePort)] = backend.PolicyNames
	}
	if p := in.Policies; p != nil {
		for _, s := range p.AppCookieStickinessPolicies {
			b.Sticky = append(b.Sticky, aws.ToString(s.PolicyName))
		}
		for _, s := range p.LBCookieStickinessPolicies {
			b.Sticky = append(b.Sticky, aws.ToString(s.PolicyName))
		}
		b.Policies = slices.Concat(p.OtherPolicies, b.Sticky)
	}
	if h := in.HealthCheck; h != nil {
		b.HealthCheck = HealthCheck{Target: aws.ToString(h.Target), Interval: aws.ToInt32(h.Interval),
			Timeout: aws.ToInt32(h.Timeout),
			Healthy: aws.ToInt32(h.HealthyThreshold), Unhealthy: aws.ToInt32(h.UnhealthyThreshold)}
	}
	return b
}

// toAttributes converts the response of AWS.
func toAttributes(in *elbtypes.LoadBalancerAttributes) Attributes {
	var a Attributes
	if in == nil {
		return a
	}
	if c := in.CrossZoneLoadBalancing; c != nil {
		a.CrossZone = c.Enabled
	}
	if l := in.AccessLog; l != nil {
		a.AccessLog = AccessLog{l.Enabled, aws.ToInt32(l.EmitInterval), aws.ToString(l.S3BucketName),
			aws.ToString(l.S3BucketPrefix)}
	}
	if c := in.ConnectionDraining; c != nil {
		a.Draining, a.DrainTimeout = c.Enabled, aws.ToInt32(c.Timeout)
	}
	if s := in.ConnectionSettings; s != nil {
		a.IdleTimeout = aws.ToInt32(s.IdleTimeout)
	}
	return a
}

func toListeners(listeners []Listener) []elbtypes.Listener {
	out := make([]elbtypes.Listener, len(listeners))
	for i, l := range listeners {
		out[i] = elbtypes.Listener{
			Protocol: aws.String(l.Protocol), LoadBalancerPort: l.Port, InstanceProtocol: aws.String(l.InstanceProtocol),
			InstancePort: aws.Int32(l.InstancePort),
		}
		if l.Certificate != "" {
			out[i].SSLCertificateId = aws.String(l.Certificate)
		}
	}
	return out
}

func toInstances(ids []string) []elbtypes.Instance {
	return api.Convert(ids, func(id string) elbtypes.Instance { return elbtypes.Instance{InstanceId: &id} })
}

func fromInstances(in []elbtypes.Instance) []string {
	ids := api.Convert(in, func(i elbtypes.Instance) string { return aws.ToString(i.InstanceId) })
	slices.Sort(ids)
	return ids
}

func toTags(tags map[string]string) []elbtypes.Tag {
	return api.KeyValues(tags, func(key, value *string) elbtypes.Tag { return elbtypes.Tag{Key: key, Value: value} })
}
