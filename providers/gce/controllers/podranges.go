package controllers

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/instances"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

const (
	// maxBatch is the number of instances of a read: a list with a filter by their names.
	maxBatch = 100
	// podBitsIPv6 is the prefix length of the IPv6 podCIDR, which contains the address of the instance.
	podBitsIPv6 = 112
)

// podRanges are alias IP ranges and IPv6 ranges of instances. GCE routes them to the instance, so that no routes are
// needed.
type podRanges struct {
	instances *instances.Source
	ids       names.ProviderIDs
	// rangeName is the secondary range of the subnetwork for pods; "" if the configuration names none.
	rangeName string
	// cluster are the ranges of all pods; none if they are not known.
	cluster []netip.Prefix
}

var _ nodeipam.Source = (*podRanges)(nil)

// Has implements nodeipam.Source.
func (p *podRanges) Has(node *v1.Node) bool {
	_, err := p.ids.Parse(node.Spec.ProviderID)
	return err == nil
}

// Advice implements nodeipam.Source.
func (*podRanges) Advice() string {
	return "add one with gcloud compute instances network-interfaces update INSTANCE --aliases=RANGE"
}

// MaxBatch implements nodeipam.Source.
func (*podRanges) MaxBatch() int { return maxBatch }

// Assigned implements nodeipam.Source.
func (p *podRanges) Assigned(ctx context.Context,
	nodes []*v1.Node) (map[string][]netip.Prefix, map[string]error, error) {
	assigned, errs := map[string][]netip.Prefix{}, map[string]error{}
	byID := map[string][]string{} // the names of Nodes
	for _, node := range nodes {
		id, err := p.ids.Parse(node.Spec.ProviderID)
		if err != nil {
			errs[node.Name] = err
			continue
		}
		byID[id] = append(byID[id], node.Name)
	}
	found, unread, err := p.instances.PodNetworks(ctx, slices.Collect(maps.Keys(byID)))
	if err != nil {
		return nil, nil, err
	}
	for id, nodeNames := range byID {
		ranges, err := p.of(found[id])
		switch {
		case unread[id] != nil:
			err = unread[id]
		case err != nil:
			err = &cloudapi.Error{Class: cloudapi.Invalid, Operation: api.InstancesGet.String(),
				Err: fmt.Errorf("instance %s: %w", id, err)}
		}
		for _, name := range nodeNames {
			assigned[name], errs[name] = ranges, err
		}
	}
	return assigned, errs, nil
}

// of returns the ranges of an instance: an alias range and an IPv6 range.
func (p *podRanges) of(network instances.PodNetwork) (ranges []netip.Prefix, err error) {
	alias, err := p.alias(network.Aliases)
	if err != nil {
		return nil, err
	}
	if alias.IsValid() {
		ranges = append(ranges, alias)
	}
	if addr, err := netip.ParseAddr(network.IPv6); err == nil {
		ranges = append(ranges, netip.PrefixFrom(addr, podBitsIPv6).Masked())
	}
	return ranges, nil
}

// alias returns the alias range for pods. With several, it is that of the configured secondary range, or the only one
// in the range of the cluster: podCIDRs are immutable, so that none is guessed. A single one is that for pods, whatever
// its secondary range: nodes of further subnets have other ones.
func (p *podRanges) alias(aliases []api.AliasIPRange) (netip.Prefix, error) {
	if len(aliases) > 1 && p.rangeName != "" {
		aliases = slices.DeleteFunc(slices.Clone(aliases), func(a api.AliasIPRange) bool {
			return a.RangeName != "" && a.RangeName != p.rangeName
		})
	}
	var all, named, inside []netip.Prefix
	for _, a := range aliases {
		prefix, err := parseAlias(a.Range)
		if err != nil {
			return prefix, err
		}
		all = append(all, prefix)
		if p.rangeName != "" && a.RangeName == p.rangeName {
			named = append(named, prefix)
		}
		for _, cluster := range p.cluster {
			if cluster.Bits() <= prefix.Bits() && cluster.Contains(prefix.Addr()) {
				inside = append(inside, prefix)
			}
		}
	}
	for _, candidates := range [][]netip.Prefix{named, all, inside} {
		if len(candidates) == 1 {
			return candidates[0], nil
		}
	}
	if len(all) == 0 {
		return netip.Prefix{}, nil
	}
	var texts []string
	for _, prefix := range all {
		texts = append(texts, prefix.String())
	}
	return netip.Prefix{}, fmt.Errorf("it has the alias ranges %s: name the one for pods with secondary-range-name in "+
		"section [global], or give --cluster-cidr a range that contains only one of them", strings.Join(texts, " and "))
}

// parseAlias reads a range, which is a single address if it has no length.
func parseAlias(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, fmt.Errorf("alias range %q is not a range of addresses", text)
	}
	return prefix.Masked(), nil
}
