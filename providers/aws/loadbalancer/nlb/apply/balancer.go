package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
)

// CreateBalancer creates a load balancer with security groups, by their IDs, and returns its ARN. It gets the tags
// extra in addition to those of all objects of the Service. AWS returns an existing load balancer if it has the same
// name and settings: an earlier call created it, and its reply was lost. One of another owner is an error.
func (w Writer) CreateBalancer(
	ctx context.Context, want model.Desired, extra map[string]string, groups []string,
) (string, error) {
	tags := map[string]string{}
	maps.Copy(tags, want.Tags)
	maps.Copy(tags, extra)
	in := &elbv2.CreateLoadBalancerInput{
		Name: aws.String(want.Name), Type: types.LoadBalancerTypeEnumNetwork,
		Scheme: types.LoadBalancerSchemeEnum(want.Scheme), IpAddressType: types.IpAddressType(want.AddressType),
		SecurityGroups: groups, Tags: toTags(tags),
	}
	in.Subnets, in.SubnetMappings = toMappings(want.Zones)
	if want.SourceNAT {
		in.EnablePrefixForIpv6SourceNat = types.EnablePrefixForIpv6SourceNatEnumOn
	}
	out, err := w.api.CreateLoadBalancer(ctx, in)
	created, err := singleItem("CreateLoadBalancer", err, func() []types.LoadBalancer { return out.LoadBalancers })
	if err != nil {
		w.store.MarkUncertain(w.Key)
		return "", adviseCreate(want.Name, err)
	}
	b := observe.ToBalancer(created)
	if want.Name != model.DefaultName(w.Key) {
		// A name that the user chose may be in use, and AWS then returns the existing load balancer.
		isFor, err := w.store.ReadIsFor(ctx, b.ARN, w.Key)
		if err == nil && !isFor {
			err = model.RefuseForeign(w.Key, b, "another Service or to an owner that its tags do not name")
		}
		if err != nil {
			return "", err
		}
	}
	w.store.AddBalancer(b, model.NewAttributes(), tags)
	return b.ARN, nil
}

// adviseCreate adds to an error how to fix a name that is in use.
func adviseCreate(name string, err error) error {
	if !cloudapi.Is(err, cloudapi.AlreadyExists) {
		return err
	}
	return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "CreateLoadBalancer",
		Err: fmt.Errorf("the name %s is in use by a load balancer with other settings: if it is not this Service's, "+
			"choose another name, or delete it: %w", name, err)}
}

// SetSubnets sets the subnets and addresses of a load balancer, and adds IPv6 with dualStack, or IPv6 prefixes for UDP
// with sourceNAT.
func (w Writer) SetSubnets(ctx context.Context, b model.Balancer, zones []model.Zone, dualStack, sourceNAT bool) error {
	in := &elbv2.SetSubnetsInput{LoadBalancerArn: &b.ARN}
	in.Subnets, in.SubnetMappings = toMappings(zones)
	if dualStack {
		in.IpAddressType = types.IpAddressTypeDualstack
	}
	if sourceNAT || b.SourceNAT {
		in.EnablePrefixForIpv6SourceNat = types.EnablePrefixForIpv6SourceNatEnumOn
	}
	out, err := w.api.SetSubnets(ctx, in)
	return w.finish(awserr.Wrap("SetSubnets", err), func() {
		w.store.UpdateBalancer(b.ARN, func(r *model.Balancer) {
			r.Zones, r.SourceNAT = observe.ToZones(out.AvailabilityZones), r.SourceNAT || sourceNAT
			if out.IpAddressType != "" {
				r.AddressType = string(out.IpAddressType)
			}
		})
	})
}

// SetAddressType sets the families of a load balancer's addresses.
func (w Writer) SetAddressType(ctx context.Context, arn, addressType string) error {
	_, err := w.api.SetIpAddressType(ctx, &elbv2.SetIpAddressTypeInput{LoadBalancerArn: &arn,
		IpAddressType: types.IpAddressType(addressType)})
	return w.finish(awserr.Wrap("SetIpAddressType", err), func() {
		w.store.UpdateBalancer(arn, func(b *model.Balancer) { b.AddressType = addressType })
	})
}

// SetSecurityGroups replaces the security groups of a load balancer, by their IDs.
func (w Writer) SetSecurityGroups(ctx context.Context, arn string, groups []string) error {
	_, err := w.api.SetSecurityGroups(ctx, &elbv2.SetSecurityGroupsInput{LoadBalancerArn: &arn,
		SecurityGroups: groups})
	return w.finish(awserr.Wrap("SetSecurityGroups", err), func() {
		w.store.UpdateBalancer(arn, func(b *model.Balancer) { b.SecurityGroups = groups })
	})
}

// SetAttributes sets attributes of a load balancer.
func (w Writer) SetAttributes(ctx context.Context, arn string, set map[string]string) error {
	_, err := w.api.ModifyLoadBalancerAttributes(ctx, &elbv2.ModifyLoadBalancerAttributesInput{
		LoadBalancerArn: &arn, Attributes: api.KeyValues(set, func(key, value *string) types.LoadBalancerAttribute {
			return types.LoadBalancerAttribute{Key: key, Value: value}
		}),
	})
	return w.finish(awserr.Wrap("ModifyLoadBalancerAttributes", err), func() { w.store.UpdateAttributes(arn, set) })
}

// DeleteBalancer deletes a load balancer with its listeners, and releases its rules. A missing one counts as deleted.
func (w Writer) DeleteBalancer(ctx context.Context, arn string) error {
	w.groups.Release(model.DefaultName(w.Key))
	_, err := w.api.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &arn})
	return w.finish(cloudapi.IgnoreNotFound(awserr.Wrap("DeleteLoadBalancer", err)),
		func() {
			w.store.DeleteBalancer(arn)
			w.store.Unfinished().Forget(string(w.Key.UID))
		})
}

// toMappings converts subnets for requests: to IDs if the user chose no address, else to mappings.
func toMappings(zones []model.Zone) (subnets []string, mappings []types.SubnetMapping) {
	addressed := slices.ContainsFunc(zones, func(z model.Zone) bool { return z.Allocation+z.PrivateIPv4+z.IPv6 != "" })
	for _, z := range zones {
		if !addressed {
			subnets = append(subnets, z.Subnet)
			continue
		}
		mappings = append(mappings, types.SubnetMapping{
			SubnetId: aws.String(z.Subnet), AllocationId: optional(z.Allocation), PrivateIPv4Address: optional(z.PrivateIPv4),
			IPv6Address: optional(z.IPv6),
		})
	}
	return subnets, mappings
}
