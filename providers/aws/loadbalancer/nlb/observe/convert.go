package observe

import (
	"cmp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// ToBalancer converts a load balancer in a response.
func ToBalancer(in types.LoadBalancer) model.Balancer {
	b := model.Balancer{
		ARN: aws.ToString(in.LoadBalancerArn), Name: aws.ToString(in.LoadBalancerName), DNSName: aws.ToString(in.DNSName),
		VPC: aws.ToString(in.VpcId), Created: aws.ToTime(in.CreatedTime),
		Scheme: string(in.Scheme), AddressType: string(in.IpAddressType), SecurityGroups: in.SecurityGroups,
		SourceNAT: in.EnablePrefixForIpv6SourceNat == types.EnablePrefixForIpv6SourceNatEnumOn,
	}
	if in.State != nil {
		b.State, b.Reason = string(in.State.Code), aws.ToString(in.State.Reason)
	}
	b.Zones = ToZones(in.AvailabilityZones)
	return b
}

// ToZones converts the subnets in a response, sorted by ID.
func ToZones(in []types.AvailabilityZone) []model.Zone {
	zones := make([]model.Zone, 0, len(in))
	for _, z := range in {
		zone := model.Zone{Subnet: aws.ToString(z.SubnetId)}
		for _, a := range z.LoadBalancerAddresses {
			zone.Allocation = cmp.Or(zone.Allocation, aws.ToString(a.AllocationId))
			zone.PrivateIPv4 = cmp.Or(zone.PrivateIPv4, aws.ToString(a.PrivateIPv4Address))
			zone.IPv6 = cmp.Or(zone.IPv6, aws.ToString(a.IPv6Address))
		}
		zones = append(zones, zone)
	}
	sorting.Func(zones, func(a, b model.Zone) int { return cmp.Compare(a.Subnet, b.Subnet) })
	return zones
}

// ToListener converts a listener in a response, with its default certificate only.
func ToListener(in types.Listener) model.Listener {
	l := model.Listener{ARN: aws.ToString(in.ListenerArn), Protocol: string(in.Protocol), Port: aws.ToInt32(in.Port),
		Policy: aws.ToString(in.SslPolicy)}
	for _, c := range in.Certificates {
		l.Certificates = append(l.Certificates, aws.ToString(c.CertificateArn))
	}
	for _, a := range in.DefaultActions {
		switch {
		case a.ForwardConfig != nil && len(a.ForwardConfig.TargetGroups) > 0:
			for _, g := range a.ForwardConfig.TargetGroups {
				l.Forwards = append(l.Forwards, model.Forward{Group: aws.ToString(g.TargetGroupArn), Weight: aws.ToInt32(g.Weight)})
			}
		case a.TargetGroupArn != nil:
			l.Forwards = append(l.Forwards, model.Forward{Group: *a.TargetGroupArn})
		}
	}
	return l
}

// ToGroup converts a target group in a response.
func ToGroup(in types.TargetGroup) model.TargetGroup {
	return model.TargetGroup{
		ARN: aws.ToString(in.TargetGroupArn), Name: aws.ToString(in.TargetGroupName), Protocol: string(in.Protocol),
		VPC:        aws.ToString(in.VpcId),
		TargetType: string(in.TargetType), AddressType: cmp.Or(string(in.IpAddressType),
			string(types.TargetGroupIpAddressTypeEnumIpv4)),
		Port: aws.ToInt32(in.Port), Balancers: in.LoadBalancerArns,
		Health: model.HealthCheck{
			Protocol: string(in.HealthCheckProtocol), Port: aws.ToString(in.HealthCheckPort),
			Path:     aws.ToString(in.HealthCheckPath),
			Interval: aws.ToInt32(in.HealthCheckIntervalSeconds), Timeout: aws.ToInt32(in.HealthCheckTimeoutSeconds),
			Healthy: aws.ToInt32(in.HealthyThresholdCount), Unhealthy: aws.ToInt32(in.UnhealthyThresholdCount),
		},
	}
}
