package nodeipam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Source reads the ranges that a cloud has assigned to instances for pods. It is safe for concurrent use.
type Source interface {
	// Has reports whether the Node has an instance that can have ranges. It does no I/O.
	Has(node *v1.Node) bool
	// Assigned reads the ranges of the instances of Nodes by name, at most one of each family, in the order in which a
	// Node gets them. They are read after the call: an instance that was created again under its name has other ranges,
	// and its former ones are those of another instance by now. An error is about that Node only; the last one is about
	// all.
	Assigned(ctx context.Context, nodes []*v1.Node) (map[string][]netip.Prefix, map[string]error, error)
	// Advice says how an instance gets ranges.
	Advice() string
	// MaxBatch is the largest number of Nodes of one read.
	MaxBatch() int
}

// fromCloud allocates the ranges of instances. find is not called concurrently.
type fromCloud struct {
	provider.ControllerContext
	source Source
	// chosen are the podCIDRs of Nodes whose writes the lister does not show yet.
	chosen map[types.UID][]netip.Prefix
}

func (c *fromCloud) has(node *v1.Node) bool         { return c.source.Has(node) }
func (*fromCloud) settle(types.UID, []netip.Prefix) {}

// find reads the ranges of the instances. The cloud may give a range to a new instance while the Node of its former one
// exists, and two Nodes may have one instance: a range that another Node has is an error until that Node is deleted.
func (c *fromCloud) find(ctx context.Context, list []*v1.Node) (map[string][]string, map[string]error) {
	found, errs := map[string][]string{}, map[string]error{}
	if len(list) == 0 {
		return found, errs
	}
	assigned, failed, err := c.source.Assigned(ctx, list)
	used, usedErr := c.used()
	if err = cmp.Or(err, usedErr); err != nil {
		for _, node := range list {
			errs[node.Name] = err
		}
		return found, errs
	}
	for _, node := range list {
		podCIDRs, err := c.choose(node, assigned[node.Name], failed[node.Name])
		if err == nil {
			err = used.conflict(node, podCIDRs)
		}
		if err != nil {
			errs[node.Name] = err
			continue
		}
		found[node.Name] = podcidr.Strings(podCIDRs)
		c.chosen[node.UID] = podCIDRs
		used.add(node, podCIDRs)
	}
	return found, errs
}

// used returns the podCIDRs that Nodes have or get.
func (c *fromCloud) used() (used usedRanges, err error) {
	nodes, err := c.Nodes.Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	pending := map[types.UID][]netip.Prefix{}
	for _, node := range nodes {
		ranges := podcidr.OfNode(node.Spec.PodCIDR, node.Spec.PodCIDRs)
		if len(ranges) == 0 && len(c.chosen[node.UID]) > 0 {
			ranges = c.chosen[node.UID]
			pending[node.UID] = ranges
		}
		used.add(node, ranges)
	}
	c.chosen = pending
	return used, nil
}

// usedRanges are the podCIDRs of Nodes.
type usedRanges []usedRange

type usedRange struct {
	uid    types.UID
	node   string
	prefix netip.Prefix
}

func (u *usedRanges) add(node *v1.Node, podCIDRs []netip.Prefix) {
	for _, p := range podCIDRs {
		*u = append(*u, usedRange{node.UID, node.Name, p})
	}
}

// conflict returns an error if another Node has a part of the podCIDRs.
func (u usedRanges) conflict(node *v1.Node, podCIDRs []netip.Prefix) error {
	for _, p := range podCIDRs {
		for _, used := range u {
			if used.uid != node.UID && used.prefix.Overlaps(p) {
				return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "podCIDRs", Err: fmt.Errorf(
					"the instance of %s has the range %s, and node %s has the podCIDR %s: delete that node if its machine is gone",
					node.Spec.ProviderID, p, used.node, used.prefix)}
			}
		}
	}
	return nil
}

// choose returns the range of each family of the cluster, or all ranges if the families are not known.
func (c *fromCloud) choose(node *v1.Node, assigned []netip.Prefix, err error) ([]netip.Prefix, error) {
	if err != nil {
		return nil, err
	}
	families := c.PodCIDRs.Families()
	if len(families) == 0 && len(assigned) > 0 {
		return assigned, nil
	}
	var chosen []netip.Prefix
	var missing []string
	for _, family := range families {
		at := len(chosen)
		for _, p := range assigned {
			if p.Addr().Is4() == (family == 4) {
				chosen = append(chosen, p)
				break
			}
		}
		if len(chosen) == at {
			missing = append(missing, fmt.Sprintf("IPv%d", family))
		}
	}
	if len(missing) == 0 && len(chosen) > 0 {
		return chosen, nil
	}
	return nil, &cloudapi.Error{Class: cloudapi.Conflict, Operation: "podCIDRs", Err: fmt.Errorf(
		"the instance of %s has no %srange for pods: %s", node.Spec.ProviderID,
		strings.Join(append(missing, ""), " "), c.source.Advice())}
}

// fromRanges allocates parts of the cluster's ranges.
type fromRanges struct{ ranges *podcidr.Ranges }

func (*fromRanges) has(*v1.Node) bool { return true }

func (r *fromRanges) settle(uid types.UID, has []netip.Prefix) { r.ranges.Settle(uid, has) }

func (r *fromRanges) find(ctx context.Context, list []*v1.Node) (map[string][]string, map[string]error) {
	found, errs := map[string][]string{}, map[string]error{}
	reserved, failed, err := r.ranges.Reserve(ctx, list)
	for _, node := range list {
		if ranges := reserved[node.UID]; len(ranges) > 0 {
			found[node.Name] = podcidr.Strings(ranges)
		} else {
			errs[node.Name] = errors.Join(failed[node.UID], err)
		}
	}
	return found, errs
}
