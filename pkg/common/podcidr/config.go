// Package podcidr allocates the podCIDRs of Nodes from the ranges of the cluster.
package podcidr

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	netutils "k8s.io/utils/net"
)

// Flags of the manager. Those of sizes and Service ranges are those of kube-controller-manager.
const (
	FlagCluster   = "cluster-cidr"
	FlagMask      = "node-cidr-mask-size"
	FlagMaskIPv4  = "node-cidr-mask-size-ipv4"
	FlagMaskIPv6  = "node-cidr-mask-size-ipv6"
	FlagService   = "service-cluster-ip-range"
	FlagSecondary = "secondary-service-cluster-ip-range"
)

const (
	// defaultMaskIPv4 and defaultMaskIPv6 are the sizes of kube-controller-manager.
	defaultMaskIPv4, defaultMaskIPv6 = 24, 64
	// maxBits limits the number of Nodes of a range to 65,536, as kube-controller-manager does.
	maxBits = 16
)

// Config are the ranges of a cluster, and the sizes of the podCIDRs of a Node.
type Config struct {
	// Cluster are the ranges of all pods: one, or one of each IP family.
	Cluster []netip.Prefix
	// Services are the ranges of cluster IPs.
	Services []netip.Prefix
	// Mask, MaskIPv4 and MaskIPv6 are prefix lengths; 0 is the default. Mask is for clusters of one family.
	Mask, MaskIPv4, MaskIPv6 int
}

// Families returns the families of the ranges of Services, or else of pods, as 4 and 6, in their order: a Node needs a
// podCIDR of each, because none can be added later. None are known without any range.
func (c Config) Families() []int {
	ranges := c.Services
	if len(ranges) == 0 {
		ranges = c.Cluster
	}
	var families []int
	for _, p := range ranges {
		if family := familyOf(p); !slices.Contains(families, family) {
			families = append(families, family)
		}
	}
	return families
}

func familyOf(p netip.Prefix) int {
	if p.Addr().Is4() {
		return 4
	}
	return 6
}

// mask returns the prefix length of the podCIDRs in a range of the cluster, and the name of its flag.
func (c Config) mask(cluster netip.Prefix) (bits int, flag string) {
	bits, flag = c.MaskIPv4, FlagMaskIPv4
	byDefault := defaultMaskIPv4
	if familyOf(cluster) == 6 {
		bits, flag, byDefault = c.MaskIPv6, FlagMaskIPv6, defaultMaskIPv6
	}
	switch {
	case bits != 0:
		return bits, flag
	case len(c.Cluster) == 1 && c.Mask != 0:
		return c.Mask, FlagMask
	default:
		return byDefault, flag
	}
}

// Validate returns all errors of ranges from which podCIDRs are allocated.
func (c Config) Validate() error {
	var errs []error
	if err := CheckFamilies(FlagCluster, join(c.Cluster), c.Cluster); err != nil {
		errs = append(errs, err)
	}
	if err := CheckFamilies(FlagService, join(c.Services), c.Services); err != nil {
		errs = append(errs, err)
	}
	if len(c.Cluster) == 0 {
		errs = append(errs, fmt.Errorf("--%s is not set, but podCIDRs are allocated from it: give the range of all pods, "+
			"such as 10.244.0.0/16", FlagCluster))
	}
	if len(c.Cluster) == 2 && c.Mask != 0 {
		errs = append(errs, fmt.Errorf("--%s=%d is for clusters of one IP family: use --%s and --%s", FlagMask, c.Mask,
			FlagMaskIPv4, FlagMaskIPv6))
	}
	for _, cluster := range c.Cluster {
		bits, flag := c.mask(cluster)
		least, most := cluster.Bits(), min(cluster.Bits()+maxBits, cluster.Addr().BitLen())
		if bits < least || bits > most {
			errs = append(errs, fmt.Errorf("--%s=%d: the podCIDR of a Node in %s must have a prefix length from %d to %d", flag,
				bits, cluster, least, most))
		}
	}
	return errors.Join(errs...)
}

// CheckFamilies rejects more than one range of an IP family in the value of a flag.
func CheckFamilies(flag, value string, ranges []netip.Prefix) error {
	if len(ranges) > 2 || len(ranges) == 2 && familyOf(ranges[0]) == familyOf(ranges[1]) {
		return fmt.Errorf("--%s=%s: give one range, or one IPv4 range and one IPv6 range", flag, value)
	}
	return nil
}

func join(ranges []netip.Prefix) string { return strings.Join(Strings(ranges), ",") }

// Strings returns ranges as spec.podCIDRs has them.
func Strings(ranges []netip.Prefix) []string {
	list := make([]string, len(ranges))
	for i, p := range ranges {
		list[i] = p.String()
	}
	return list
}

// OfNode returns the podCIDRs of a Node. They are parsed as the API server did before Kubernetes 1.36, which accepted
// numbers with leading zeros and IPv4 in the form of IPv6. Others are left out: it accepts none.
func OfNode(podCIDR string, podCIDRs []string) (ranges []netip.Prefix) {
	if len(podCIDRs) == 0 && podCIDR != "" {
		podCIDRs = []string{podCIDR}
	}
	for _, text := range podCIDRs {
		if p, ok := parse(text); ok {
			ranges = append(ranges, p)
		}
	}
	return ranges
}

func parse(text string) (netip.Prefix, bool) {
	_, network, err := netutils.ParseCIDRSloppy(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(network.IP)
	bits, _ := network.Mask.Size()
	if mapped := addr.BitLen() - 32; addr.Is4In6() && bits >= mapped {
		addr, bits = addr.Unmap(), bits-mapped
	}
	return netip.PrefixFrom(addr, bits), ok
}
