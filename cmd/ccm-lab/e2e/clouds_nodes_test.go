package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws"
	"github.com/unified-ccm/unified-ccm/providers/fake"
	"github.com/unified-ccm/unified-ccm/providers/openstack"
)

// TestNodeOfTwoClouds: a node whose name two clouds have is nobody's, until its label selects one.
func TestNodeOfTwoClouds(t *testing.T) {
	t.Parallel()
	c := newClouds(t, fakeAndAWS)
	c.start()
	node, err := c.worlds[fake.ProviderName].Launch(conformance.Machine{Name: "twin"})
	c.must(err)
	_, err = c.worlds[aws.ProviderName].Launch(conformance.Machine{Name: "twin"})
	c.must(err, lab.RegisterNode(t.Context(), c.plane.Client, node))
	c.eventually("an Event", func(ctx context.Context) error {
		list, err := c.live.Events(ctx, "Node", "", "twin")
		if err == nil && !slices.ContainsFunc(list, func(e string) bool { return strings.HasPrefix(e, "NodeOwnerConflict") }) {
			err = fmt.Errorf("events %v", list)
		}
		return err
	})
	c.unchangedFor(calm, func(ctx context.Context) error {
		twin, err := c.plane.Client.CoreV1().Nodes().Get(ctx, "twin", metav1.GetOptions{})
		if err == nil && (twin.Spec.ProviderID != "" || lab.IsInitialised(*twin)) {
			err = fmt.Errorf("it has the provider ID %q and the taints %v", twin.Spec.ProviderID, twin.Spec.Taints)
		}
		return err
	})
	c.label("twin", provider.ProviderLabel, fake.ProviderName)
	c.eventually("the node of the cloud that the label selects", c.initialized(fake.ProviderName, "twin"))
}

// TestNodeEventsOfAnotherCloud: what happens to the nodes of one cloud costs the other one no call.
func TestNodeEventsOfAnotherCloud(t *testing.T) {
	t.Parallel()
	c := newClouds(t, fakeAndAWS)
	c.start()
	ofFake, ofAWS := c.join(fake.ProviderName, 1), c.join(aws.ProviderName, 2)
	c.create("web", "")
	c.eventually("the nodes", c.initialized(fake.ProviderName, ofFake...))
	c.eventually("the nodes", c.initialized(aws.ProviderName, ofAWS...))
	c.eventually("the load balancer", c.balancers(fake.ProviderName, 1, 1))
	c.must(c.live.Settle(t.Context()))
	before := c.lastCall()
	for i := range 50 {
		c.label(ofAWS[i%2], "storm", fmt.Sprint(i))
		c.must(lab.SetReady(t.Context(), c.plane.Client, ofAWS[i%2], i%4 > 1))
	}
	c.must(c.live.Settle(t.Context()))
	if calls := c.calls(before); len(calls) > 0 {
		t.Errorf("the other cloud got %s", tally(calls))
	}
}

// label sets a label of a node.
func (c *clouds) label(node, key, value string) {
	c.t.Helper()
	_, err := c.plane.Client.CoreV1().Nodes().Patch(c.t.Context(), node, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value), metav1.PatchOptions{})
	c.must(err)
}

// TestPodCIDRsOfTwoClouds: the nodes of both clouds get podCIDRs of both families from the same ranges, no two the same
// one, and each leader goes on where the last one stopped. A node that no cloud has gets none.
func TestPodCIDRsOfTwoClouds(t *testing.T) {
	t.Parallel()
	names := []string{fake.ProviderName, openstack.ProviderName}
	c := newClouds(t, names, "--allocate-node-cidrs", "--controllers=*,nodeipam",
		"--cluster-cidr=10.244.0.0/18,fd00:244::/58", "--service-cluster-ip-range=10.244.0.0/24,fd00:245::/108")
	c.start()
	c.join(fake.ProviderName, 1, func(n *v1.Node) {
		n.Name, n.Spec.ProviderID, n.Spec.PodCIDR, n.Spec.PodCIDRs = "foreign", "kind://x/y", "10.244.2.0/24",
			[]string{"10.244.2.0/24"}
	})
	allocated := func(want int) conformance.Check {
		return func(ctx context.Context) error {
			list, err := c.plane.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			seen := map[string]string{"10.244.0.0/24": "the Services", "10.244.2.0/24": "the foreign node"}
			total := 0
			for _, n := range list.Items {
				if n.Name == "foreign" {
					continue
				}
				for _, p := range n.Spec.PodCIDRs {
					if other, ok := seen[p]; ok {
						t.Errorf("%s and %s have %s", n.Name, other, p)
					}
					seen[p] = n.Name
					total++
				}
			}
			if total != 2*want {
				return fmt.Errorf("%d podCIDRs, want %d", total, 2*want)
			}
			return nil
		}
	}
	for round := range 3 {
		for _, name := range names {
			c.join(name, 10, func(n *v1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = "", nil })
		}
		c.eventually("podCIDRs of all nodes", allocated(20*(round+1)))
		c.restart(names...)
	}
	// 62 of 64 ranges are left of the IPv4 range: three more nodes than that.
	c.join(fake.ProviderName, 5, func(n *v1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = "", nil })
	c.eventually("podCIDRs of as many nodes as there are", allocated(62))
	c.unchangedFor(calm, allocated(62))
}
