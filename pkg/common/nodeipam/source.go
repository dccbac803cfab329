package nodeipam

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Source reads the ranges that a cloud has assigned to instances for pods. It is safe for concurrent use.
type Source interface {
	// Has reports whether the Node has an instance that can have ranges. It does no I/O.
	Has(node *v1.Node) bool
	// Assigned returns the ranges of the instances of Nodes by name, at most one of each family, in the order in which a
	// Node gets them. Without fresh, they may be from a cache. An error is about that Node only; the last one is about
	// all.
	Assigned(ctx context.Context, nodes []*v1.Node, fresh bool) (map[string][]netip.Prefix, map[string]error, error)
	// Advice says how an instance gets ranges.
	Advice() string
	// MaxBatch is the largest number of Nodes of one read.
	MaxBatch() int
}

// fromCloud allocates the ranges of instances.
type fromCloud struct {
	provider.ControllerContext
	source Source
}

func (c *fromCloud) has(node *v1.Node) bool { return c.source.Has(node) }
func (*fromCloud) release(*v1.Node)         {}

// find uses cached instances if they have ranges, and reads the others.
func (c *fromCloud) find(ctx context.Context, list []*v1.Node) (map[string][]string, map[string]error) {
	found, errs := map[string][]string{}, map[string]error{}
	for _, fresh := range []bool{false, true} {
		if len(list) == 0 {
			break
		}
		assigned, failed, err := c.source.Assigned(ctx, list, fresh)
		if err != nil {
			for _, node := range list {
				errs[node.Name] = err
			}
			break
		}
		var rest []*v1.Node
		for _, node := range list {
			podCIDRs, err := c.choose(node, assigned[node.Name], failed[node.Name])
			switch {
			case err == nil:
				found[node.Name] = podcidr.Strings(podCIDRs)
			case fresh || failed[node.Name] != nil:
				errs[node.Name] = err
			default:
				rest = append(rest, node)
			}
		}
		list = rest
	}
	return found, errs
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

func (r *fromRanges) release(node *v1.Node) { r.ranges.Release(node.UID) }

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
