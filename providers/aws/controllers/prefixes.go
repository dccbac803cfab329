package controllers

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/instances"
)

// prefixes are those that are delegated to the primary network interfaces of instances. EC2 routes them to the
// instance, so that no routes are needed.
type prefixes struct{ nodeController }

var _ nodeipam.Source = (*prefixes)(nil)

// Has implements nodeipam.Source.
func (p *prefixes) Has(node *v1.Node) bool {
	_, ok := p.instanceID(node)
	return ok
}

// Advice implements nodeipam.Source.
func (*prefixes) Advice() string {
	return "delegate a prefix to its primary network interface, in the launch template (Ipv4PrefixCount, " +
		"Ipv6PrefixCount) or with aws ec2 assign-ipv6-addresses"
}

// MaxBatch implements nodeipam.Source.
func (*prefixes) MaxBatch() int { return instances.MaxFilterValues }

// Assigned implements nodeipam.Source.
func (p *prefixes) Assigned(ctx context.Context,
	nodes []*v1.Node) (map[string][]netip.Prefix, map[string]error, error) {
	ids := make([]string, len(nodes))
	for n, node := range nodes {
		ids[n], _ = p.instanceID(node)
	}
	found, err := p.Instances.Described(ctx, ids, true)
	unread, err := awserr.SplitUnread(err)
	if err != nil {
		return nil, nil, err
	}
	assigned, errs := map[string][]netip.Prefix{}, map[string]error{}
	for n, node := range nodes {
		if err := unread[ids[n]]; err != nil {
			errs[node.Name] = err
		} else if assigned[node.Name], err = p.of(found[ids[n]]); err != nil {
			errs[node.Name] = &cloudapi.Error{Class: cloudapi.Unknown, Operation: "DescribeInstances",
				Err: fmt.Errorf("instance %s: %w", ids[n], err)}
		}
	}
	return assigned, errs, nil
}

// of returns the lowest prefix of each family on the primary interface of an instance, in the order of the families of
// node addresses. EC2 returns prefixes in any order, and podCIDRs are immutable.
func (p *prefixes) of(instance *ec2types.Instance) ([]netip.Prefix, error) {
	if instance == nil {
		return nil, nil
	}
	interfaces := instances.InUse(instance.NetworkInterfaces)
	if len(interfaces) == 0 || interfaces[0].Attachment == nil || aws.ToInt32(interfaces[0].Attachment.DeviceIndex) != 0 {
		return nil, nil
	}
	var cidrs []string
	for _, p := range interfaces[0].Ipv4Prefixes {
		cidrs = append(cidrs, aws.ToString(p.Ipv4Prefix))
	}
	for _, p := range interfaces[0].Ipv6Prefixes {
		cidrs = append(cidrs, aws.ToString(p.Ipv6Prefix))
	}
	lowest := map[bool]netip.Prefix{} // by whether they are IPv6
	for _, cidr := range cidrs {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			return nil, fmt.Errorf("delegated prefix %q is not a CIDR", cidr)
		}
		if other, ok := lowest[prefix.Addr().Is6()]; !ok || prefix.Compare(other) < 0 {
			lowest[prefix.Addr().Is6()] = prefix.Masked()
		}
	}
	ipv6First := len(p.Families) > 0 && p.Families[0] == config.FamilyIPv6
	var out []netip.Prefix
	for _, ipv6 := range []bool{ipv6First, !ipv6First} {
		if prefix, ok := lowest[ipv6]; ok {
			out = append(out, prefix)
		}
	}
	return out, nil
}
