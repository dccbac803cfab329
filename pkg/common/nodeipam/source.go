package nodeipam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
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
// exists, and two Nodes may have one instance: a range that another Node has is an error until that Node is deleted. A
// Node with an instance of this cloud has it only if that instance does.
func (c *fromCloud) find(ctx context.Context, list []*v1.Node) (map[string][]string, map[string]error) {
	found, errs := map[string][]string{}, map[string]error{}
	if len(list) == 0 {
		return found, errs
	}
	assigned, failed, err := c.source.Assigned(ctx, list)
	if err == nil {
		c.forget(list, assigned, failed)
	}
	used, usedErr := c.used()
	if err = cmp.Or(err, usedErr); err != nil {
		for _, node := range list {
			errs[node.Name] = err
		}
		return found, errs
	}
	chosen := map[string][]netip.Prefix{}
	for _, node := range list {
		if chosen[node.Name], err = c.choose(node, assigned[node.Name], failed[node.Name]); err != nil {
			errs[node.Name] = err
		}
	}
	used = c.proven(ctx, used, list, chosen)
	for _, node := range list {
		podCIDRs := chosen[node.Name]
		if errs[node.Name] == nil {
			errs[node.Name] = used.conflict(node, podCIDRs)
		}
		if errs[node.Name] != nil {
			continue
		}
		found[node.Name] = podcidr.Strings(podCIDRs)
		c.chosen[node.UID] = podCIDRs
		used.add(node, podCIDRs)
	}
	return found, errs
}

// forget drops what was chosen for Nodes whose instances do not have it any more.
func (c *fromCloud) forget(list []*v1.Node, assigned map[string][]netip.Prefix, failed map[string]error) {
	for _, node := range list {
		if failed[node.Name] == nil && !containsAll(assigned[node.Name], c.chosen[node.UID]) {
			delete(c.chosen, node.UID)
		}
	}
}

func containsAll(list, wanted []netip.Prefix) bool {
	return !slices.ContainsFunc(wanted, func(p netip.Prefix) bool { return !slices.Contains(list, p) })
}

// verify implements allocator: it reads the ranges of the instances again.
func (c *fromCloud) verify(ctx context.Context, list []*v1.Node) map[string]error {
	errs := map[string]error{}
	if len(list) == 0 {
		return errs
	}
	assigned, failed, err := c.source.Assigned(ctx, list)
	for _, node := range list {
		has := podcidr.OfNode(node.Spec.PodCIDR, node.Spec.PodCIDRs)
		switch {
		case err != nil || failed[node.Name] != nil:
			errs[node.Name] = cmp.Or(err, failed[node.Name])
		case !containsAll(assigned[node.Name], has):
			errs[node.Name] = &cloudapi.Error{Class: cloudapi.Conflict, Operation: "podCIDRs", Err: fmt.Errorf("%w: "+
				"its podCIDRs are %s, and those of the instance of %s are %s; delete the node, so that it registers again",
				errNotAssigned, show(has), node.Spec.ProviderID, cmp.Or(show(assigned[node.Name]), "none"))}
		}
	}
	return errs
}

// errNotAssigned is the error about a Node with a podCIDR that its instance does not have.
var errNotAssigned = errors.New("the cloud does not route the podCIDRs of the node to it")

// proven returns the podCIDRs without those that are in the way and are no longer those of the instance: whoever
// registers a Node may write any podCIDR, and an instance that is created again under its name has other ranges.
func (c *fromCloud) proven(ctx context.Context, used usedRanges, list []*v1.Node,
	chosen map[string][]netip.Prefix) usedRanges {
	var holders []*v1.Node
	for _, node := range list {
		for _, holder := range used.overlapping(node.UID, chosen[node.Name]) {
			if len(c.chosen[holder.UID]) == 0 && c.source.Has(holder) && !slices.Contains(holders, holder) {
				holders = append(holders, holder)
			}
		}
	}
	refuted := sets.New[types.UID]()
	for len(holders) > 0 {
		batch := holders[:min(len(holders), c.source.MaxBatch())]
		holders = holders[len(batch):]
		errs := c.verify(ctx, batch)
		for _, holder := range batch {
			if err := errs[holder.Name]; errors.Is(err, errNotAssigned) {
				refuted.Insert(holder.UID)
				events.Send(c.Recorder, holder, events.CIDRNotAvailable, err.Error())
			}
		}
	}
	return slices.DeleteFunc(used, func(u usedRange) bool {
		return refuted.Has(u.node.UID) || c.isTooLarge(u, list, chosen)
	})
}

// isTooLarge reports whether a podCIDR of a Node without an instance of this cloud contains more than the range of an
// instance. The cloud routes that range to the instance, whatever kubelets register: one Node with the range of a whole
// network would keep all others without podCIDRs.
func (c *fromCloud) isTooLarge(u usedRange, list []*v1.Node, chosen map[string][]netip.Prefix) bool {
	if c.source.Has(u.node) {
		return false
	}
	for _, node := range list {
		for _, p := range chosen[node.Name] {
			if u.prefix.Overlaps(p) && u.prefix.Bits() < p.Bits() {
				events.Send(c.Recorder, u.node, events.CIDRNotAvailable, fmt.Sprintf("its podCIDR %s does not count: it "+
					"contains %s, which the cloud routes to the instance of node %s", u.prefix, p, node.Name))
				return true
			}
		}
	}
	return false
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
	node   *v1.Node
	prefix netip.Prefix
}

func (u *usedRanges) add(node *v1.Node, podCIDRs []netip.Prefix) {
	for _, p := range podCIDRs {
		*u = append(*u, usedRange{node, p})
	}
}

// overlapping returns the other Nodes that have a part of the podCIDRs.
func (u usedRanges) overlapping(uid types.UID, podCIDRs []netip.Prefix) (nodes []*v1.Node) {
	for _, p := range podCIDRs {
		for _, used := range u {
			if used.node.UID != uid && used.prefix.Overlaps(p) {
				nodes = append(nodes, used.node)
			}
		}
	}
	return nodes
}

// conflict returns an error if another Node has a part of the podCIDRs.
func (u usedRanges) conflict(node *v1.Node, podCIDRs []netip.Prefix) error {
	others := u.overlapping(node.UID, podCIDRs)
	if len(others) == 0 {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "podCIDRs", Err: fmt.Errorf("the instance of %s has the "+
		"range %s, and node %s has or gets the podCIDR %[2]s or a part of it: delete that node if its machine is gone",
		node.Spec.ProviderID, show(podCIDRs), others[0].Name)}
}

func show(ranges []netip.Prefix) string { return strings.Join(podcidr.Strings(ranges), ", ") }

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

func (*fromRanges) verify(context.Context, []*v1.Node) map[string]error { return nil }

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
