package aws

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
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

const (
	// ipamController is its name in --controllers, and cloudAllocator the --cidr-allocator-type for
	// which it runs beside --allocate-node-cidrs: the names that they have in Kubernetes.
	ipamController = "node-ipam-controller"
	cloudAllocator = "CloudAllocator"
	// ipamBackoff is how long a prefix that was delegated to an instance late may go unnoticed.
	ipamBackoff = time.Minute
	// reasonNoPrefix is the reason of the Event about a node that gets no pod range.
	reasonNoPrefix = "NoDelegatedPrefix"
)

// describer reads instances in bulk; *instanceSource is one.
type describer interface {
	Described(ctx context.Context, ids []string, fresh bool) (map[string]ec2types.Instance, error)
}

// ipam gives nodes the prefixes that are delegated to their instances' primary network interface as
// pod ranges. EC2 routes these to the instance, so that no routes are needed.
type ipam struct {
	// described connects to EC2 when there is something to do.
	described func(context.Context) (describer, error)
	ids       instances.Scheme
	// order is that of the families where --cluster-cidr does not say it.
	order []string
	lent  provider.ControllerContext
}

// queue returns the queue that does the work.
func (p *ipam) queue() (*nodeQueue, error) {
	return newNodeQueue(nodeQueueOptions{
		Name: ipamController, Wants: p.wants, Do: p.do, MaxBatch: maxFilterValues, Workers: 1, MaxBackoff: ipamBackoff,
	}, p.lent.Nodes)
}

// wants says whether the node still needs pod ranges. Those that it has can never change.
func (p *ipam) wants(node *v1.Node) bool {
	_, ok := p.instanceOf(node)
	return ok && node.Spec.PodCIDR == "" && len(node.Spec.PodCIDRs) == 0
}

// instanceOf returns the EC2 instance behind a node of ours; a Fargate node is its only pod.
func (p *ipam) instanceOf(node *v1.Node) (string, bool) {
	if p.lent.Owns(node) != provider.Mine {
		return "", false
	}
	id, err := p.ids.Parse(node.Spec.ProviderID)
	return id, err == nil && machineID.MatchString(id)
}

// do gives the nodes of a batch their pod ranges. What is remembered about instances is enough where it shows
// the prefixes; the others are read again, together.
func (p *ipam) do(ctx context.Context, batch []nodeWork) map[nodeTask]error {
	source, err := p.described(ctx)
	if err != nil {
		return failed(batch, err)
	}
	errs := map[nodeTask]error{}
	for _, fresh := range []bool{false, true} {
		var ids []string
		for _, w := range batch {
			id, _ := p.instanceOf(w.object)
			ids = append(ids, id)
		}
		if len(ids) == 0 {
			break
		}
		found, err := source.Described(ctx, ids, fresh)
		if err != nil {
			return failed(batch, err)
		}
		var lacking []nodeWork
		for n, w := range batch {
			instance, exists := found[ids[n]]
			ranges, err := p.ranges(ids[n], &instance, exists)
			switch {
			case err == nil:
				errs[w.nodeTask] = p.assign(ctx, w.object, ranges)
			case fresh:
				errs[w.nodeTask] = err
				p.lent.Recorder.Event(w.object, v1.EventTypeWarning, reasonNoPrefix, err.Error())
			default:
				lacking = append(lacking, w)
			}
		}
		batch = lacking
	}
	return errs
}

// ranges returns the pod ranges of the node on an instance: of each family one prefix.
func (p *ipam) ranges(id string, instance *ec2types.Instance, exists bool) ([]netip.Prefix, error) {
	if !exists {
		return nil, &cloudapi.Error{Class: cloudapi.NotFound, Operation: "DescribeInstances", Err: fmt.Errorf("instance %s does not exist", id)}
	}
	delegated, err := prefixesOf(instance)
	if err != nil {
		return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: "DescribeInstances", Err: fmt.Errorf("instance %s: %w", id, err)}
	}
	required := p.required()
	families := required
	if len(families) == 0 {
		families = p.order
		for _, family := range []string{FamilyIPv4, FamilyIPv6} {
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
			"the primary network interface of instance %s has no delegated prefix of %s: delegate one in the launch template (Ipv4PrefixCount, Ipv6PrefixCount) or with aws ec2 assign-ipv6-addresses",
			id, strings.Join(missing, " and "))}
	}
	return out, nil
}

// required are the families of --cluster-cidr, all of which a node must have: its ranges cannot be
// added to later.
func (p *ipam) required() []string {
	var families []string
	for _, cidr := range p.lent.ClusterCIDRs {
		family := FamilyIPv4
		if cidr.Addr().Is6() {
			family = FamilyIPv6
		}
		families = append(families, family)
	}
	return families
}

// prefixesOf returns the first prefix of each family on the instance's primary interface; the lowest,
// because EC2 promises no order and the choice is for good.
func prefixesOf(instance *ec2types.Instance) (map[string]netip.Prefix, error) {
	out := map[string]netip.Prefix{}
	interfaces := inUse(instance.NetworkInterfaces)
	if len(interfaces) == 0 || interfaces[0].Attachment == nil || aws.ToInt32(interfaces[0].Attachment.DeviceIndex) != 0 {
		return out, nil
	}
	var texts []string
	for _, p := range interfaces[0].Ipv4Prefixes {
		texts = append(texts, aws.ToString(p.Ipv4Prefix))
	}
	for _, p := range interfaces[0].Ipv6Prefixes {
		texts = append(texts, aws.ToString(p.Ipv6Prefix))
	}
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("delegated prefix %q is no network", text)
		}
		family := FamilyIPv4
		if prefix.Addr().Is6() {
			family = FamilyIPv6
		}
		if have, ok := out[family]; !ok || prefix.Compare(have) < 0 {
			out[family] = prefix.Masked()
		}
	}
	return out, nil
}

// assign writes the ranges into the node.
func (p *ipam) assign(ctx context.Context, node *v1.Node, ranges []netip.Prefix) error {
	texts := make([]string, len(ranges))
	for n, prefix := range ranges {
		texts[n] = prefix.String()
	}
	logger := klog.FromContext(ctx).WithValues("node", node.Name, "podCIDRs", texts)
	if p.lent.DryRun {
		logger.Info("Dry run: would give the node pod ranges")
		return nil
	}
	// The resource version makes the server refuse if somebody else was first.
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"podCIDR": texts[0], "podCIDRs": texts},
	})
	if err != nil {
		return err
	}
	if _, err := p.lent.Client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	logger.Info("The node has its pod ranges")
	return nil
}
