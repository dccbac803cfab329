package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/instances"
)

const (
	// ipamController is the name of the controller in --controllers. It runs with --allocate-node-cidrs and
	// --cidr-allocator-type=cloudAllocator.
	ipamController = "node-ipam-controller"
	cloudAllocator = "CloudAllocator"
	// ipamBackoff is the max time until a prefix that was delegated later is found.
	ipamBackoff = time.Minute
)

// ipam sets the podCIDRs of Nodes to the prefixes that are delegated to the primary network interface of their
// instances. EC2 routes these to the instance, so that no routes are needed.
type ipam struct{ nodeController }

// queue returns the queue of the controller.
func (p *ipam) queue() (*nodeQueue, error) {
	return newNodeQueue(nodeQueueOptions{
		Name: ipamController, NeedsSync: p.needsSync, Sync: p.sync,
		MaxBatch: instances.MaxFilterValues, Workers: 1, MaxBackoff: ipamBackoff,
	}, p.controller.Nodes)
}

// needsSync reports whether the Node has no podCIDR. Existing ones are immutable.
func (p *ipam) needsSync(node *v1.Node) bool {
	_, ok := p.instanceID(node)
	return ok && node.Spec.PodCIDR == "" && len(node.Spec.PodCIDRs) == 0
}

// sync sets the podCIDRs of Nodes. It uses cached instances where they have prefixes, and reads the others in bulk.
func (p *ipam) sync(ctx context.Context, batch []nodeWork) map[nodeTask]error {
	errs := map[nodeTask]error{}
	for _, fresh := range []bool{false, true} {
		var ids []string
		for _, w := range batch {
			id, _ := p.instanceID(w.object)
			ids = append(ids, id)
		}
		if len(ids) == 0 {
			break
		}
		found, err := p.Instances.Described(ctx, ids, fresh)
		unread, err := awserr.SplitUnread(err)
		if err != nil {
			return failAll(batch, err)
		}
		var unassigned []nodeWork
		for n, w := range batch {
			instance, exists := found[ids[n]]
			podCIDRs, err := p.podCIDRs(ids[n], instance, exists)
			switch {
			case unread[ids[n]] != nil:
				errs[w.nodeTask] = unread[ids[n]]
			case err == nil:
				errs[w.nodeTask] = p.assign(ctx, w.object, podCIDRs)
			case fresh:
				errs[w.nodeTask] = err
				events.Send(p.controller.Recorder, w.object, events.NoDelegatedPrefix, err.Error())
			default:
				unassigned = append(unassigned, w)
			}
		}
		batch = unassigned
	}
	return errs
}

// podCIDRs returns the podCIDRs of the Node of an instance: a prefix of each family.
func (p *ipam) podCIDRs(id string, instance *ec2types.Instance, exists bool) ([]netip.Prefix, error) {
	if !exists {
		return nil, &cloudapi.Error{Class: cloudapi.NotFound, Operation: "DescribeInstances",
			Err: fmt.Errorf("instance %s does not exist", id)}
	}
	delegated, err := prefixesOf(instance)
	if err != nil {
		return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: "DescribeInstances",
			Err: fmt.Errorf("instance %s: %w", id, err)}
	}
	required := p.requiredFamilies()
	families := required
	if len(families) == 0 {
		families = p.Families
		for _, family := range []string{config.FamilyIPv4, config.FamilyIPv6} {
			if !slices.Contains(families, family) {
				families = append(slices.Clone(families), family)
			}
		}
	}
	var out []netip.Prefix
	var missing []string
	for _, family := range families {
		if prefix, ok := delegated[family]; ok {
			out = append(out, prefix)
		} else {
			missing = append(missing, family)
		}
	}
	if len(out) == 0 || len(required) > 0 && len(missing) > 0 {
		return nil, &cloudapi.Error{Class: cloudapi.Conflict, Operation: "DescribeInstances", Err: fmt.Errorf(
			"the primary network interface of instance %s has no delegated prefix of %s: delegate one in the launch template "+
				"(Ipv4PrefixCount, Ipv6PrefixCount) or with aws ec2 assign-ipv6-addresses",
			id, strings.Join(missing, " and "))}
	}
	return out, nil
}

// requiredFamilies returns the families of --cluster-cidr. A Node must have a podCIDR of each, since none can be added
// later.
func (p *ipam) requiredFamilies() []string {
	var families []string
	for _, cidr := range p.controller.ClusterCIDRs {
		family := config.FamilyIPv4
		if cidr.Addr().Is6() {
			family = config.FamilyIPv6
		}
		families = append(families, family)
	}
	return families
}

// prefixesOf returns the lowest prefix of each family on the instance's primary interface. EC2 returns prefixes in
// any order, and podCIDRs are immutable.
func prefixesOf(instance *ec2types.Instance) (map[string]netip.Prefix, error) {
	out := map[string]netip.Prefix{}
	interfaces := instances.InUse(instance.NetworkInterfaces)
	if len(interfaces) == 0 || interfaces[0].Attachment == nil || aws.ToInt32(interfaces[0].Attachment.DeviceIndex) != 0 {
		return out, nil
	}
	var cidrs []string
	for _, p := range interfaces[0].Ipv4Prefixes {
		cidrs = append(cidrs, aws.ToString(p.Ipv4Prefix))
	}
	for _, p := range interfaces[0].Ipv6Prefixes {
		cidrs = append(cidrs, aws.ToString(p.Ipv6Prefix))
	}
	for _, cidr := range cidrs {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			return nil, fmt.Errorf("delegated prefix %q is not a CIDR", cidr)
		}
		family := config.FamilyIPv4
		if prefix.Addr().Is6() {
			family = config.FamilyIPv6
		}
		if lowest, ok := out[family]; !ok || prefix.Compare(lowest) < 0 {
			out[family] = prefix.Masked()
		}
	}
	return out, nil
}

// assign sets the podCIDRs of a Node.
func (p *ipam) assign(ctx context.Context, node *v1.Node, prefixes []netip.Prefix) error {
	podCIDRs := make([]string, len(prefixes))
	for n, prefix := range prefixes {
		podCIDRs[n] = prefix.String()
	}
	logger := klog.FromContext(ctx).WithValues("node", node.Name, "podCIDRs", podCIDRs)
	if p.controller.DryRun {
		logger.Info("Dry run: not setting podCIDRs of the node")
		return nil
	}
	// The resource version makes the API server reject the patch after a concurrent change.
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"podCIDR": podCIDRs[0], "podCIDRs": podCIDRs},
	})
	if err != nil {
		return err
	}
	nodes := p.controller.Client.CoreV1().Nodes()
	if _, err := nodes.Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	logger.Info("Set podCIDRs of node")
	return nil
}
