package instances

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// disrupted is the zone that is disrupted, as https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html
// describes it: calls without instance IDs fail, and those with the ID of an instance there.
const disrupted = "us-west-2a"

func (w *testCloud) disrupt(zones ...string) {
	w.Cloud.Cloud.SetDisruption(sim.Disruption{Zones: zones})
}

// launchIn launches instances in a zone and returns their Nodes, which join, and their IDs.
func (w *testCloud) launchIn(zone string, n int) (nodes []*v1.Node, ids []string) {
	w.T.Helper()
	nodes = w.Launch(slices.Repeat([]world.Machine{{Zone: zone}}, n)...)
	for _, node := range nodes {
		node.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
		ids = append(ids, w.Cloud.Cloud.Instance(node.Name))
	}
	return nodes, ids
}

func TestNodesOfOtherZonesAreInitializedWhileOneIsDisrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCloud(t, sim.Options{})
		bad, badIDs := w.launchIn(disrupted, 2)
		good, goodIDs := w.launchIn("us-west-2b", 2)
		good[1].Spec.ProviderID = "aws:///us-west-2b/" + goodIDs[1]
		bad[1].Spec.ProviderID = "aws:///us-west-2a/" + badIDs[1]
		w.disrupt(disrupted)
		i := w.instances()
		for _, node := range good {
			got, err := i.InstanceMetadata(t.Context(), node)
			if err != nil || got.Zone != "us-west-2b" || len(got.NodeAddresses) == 0 {
				t.Errorf("node %s with provider ID %q: %+v, %v", node.Name, node.Spec.ProviderID, got, err)
			}
		}
		for _, node := range bad {
			if _, err := i.InstanceMetadata(t.Context(), node); !cloudapi.Is(err, cloudapi.Unavailable) {
				t.Errorf("node %s of the disrupted zone: %v", node.Name, err)
			}
			if exists, err := i.InstanceExists(t.Context(), node); !cloudapi.Is(err, cloudapi.Unavailable) {
				t.Errorf("node %s of the disrupted zone exists %t, %v", node.Name, exists, err)
			}
		}
		w.disrupt()
		time.Sleep(outageAge + time.Second)
		for _, node := range append(good, bad...) {
			w.metadata(t.Context(), i, node)
		}
	})
}

// TestReadsOfManyNodesDuringDisruption reads nodes of all zones at once: one of them is deleted, one is unreadable.
func TestReadsOfManyNodesDuringDisruption(t *testing.T) {
	for name, known := range map[string]bool{"known zones": true, "unknown zones": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCloud(t, sim.Options{})
				_, bad := w.launchIn(disrupted, 10)
				_, good := w.launchIn("us-west-2b", 300)
				gone := "i-0fedcba9876543210"
				all := slices.Concat(bad, good, []string{gone})
				if known {
					if _, err := w.source.Get(t.Context(), all); err != nil {
						t.Fatal(err)
					}
				}
				w.disrupt(disrupted)
				w.ResetCalls()
				list, err := w.source.Get(t.Context(), append(all, "i-kwok"))
				if err != nil {
					t.Fatal(err)
				}
				read, unread := map[string]bool{}, map[string]cloudapi.Class{}
				for _, i := range list {
					if i.Uncertain != nil {
						unread[i.ID] = cloudapi.ClassOf(i.Uncertain)
					} else {
						read[i.ID] = true
					}
				}
				if diff := cmp.Diff(slices.Sorted(slices.Values(good)), slices.Sorted(maps.Keys(read))); diff != "" {
					t.Errorf("read (-want +got):\n%s", diff)
				}
				want := map[string]cloudapi.Class{"i-kwok": cloudapi.Invalid}
				for _, id := range bad {
					want[id] = cloudapi.Unavailable
				}
				if diff := cmp.Diff(want, unread); diff != "" {
					t.Errorf("uncertain (-want +got):\n%s", diff)
				}
				if known {
					w.WantCalls(3 * 6) // the SDK tries each call three times
				}
				w.ResetCalls()
				if _, err := w.source.Get(t.Context(), bad); err != nil {
					t.Fatal(err)
				}
				w.WantCalls(0)
			})
		})
	}
}

func TestDeletedInstanceIsNotFoundDuringDisruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCloud(t, sim.Options{})
		w.launchIn("us-west-2b", 1)
		w.disrupt(disrupted)
		node := simtest.InitializedNode("n", "aws:///us-west-2b/i-0fedcba9876543210")
		if exists, err := w.instances().InstanceExists(t.Context(), node); exists || err != nil {
			t.Errorf("exists %t, %v", exists, err)
		}
		unnamed := &v1.Node{}
		unnamed.Name = "ip-10-0-200-200.us-west-2.compute.internal"
		if _, err := w.instances().InstanceShutdown(t.Context(), unnamed); err == nil || errors.Is(err, cloudprovider.InstanceNotFound) {
			t.Errorf("a Node without a provider ID: %v, want an error", err)
		}
	})
}

// TestDescribedDuringDisruption verifies that instances which were read before are used, and that one that never was
// does not block the others.
func TestDescribedDuringDisruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCloud(t, sim.Options{})
		_, before := w.launchIn(disrupted, 1)
		if _, err := w.source.Described(t.Context(), before, false); err != nil {
			t.Fatal(err)
		}
		_, joined := w.launchIn(disrupted, 1)
		_, good := w.launchIn("us-west-2b", MaxFilterValues)
		time.Sleep(2 * describedAge)
		w.disrupt(disrupted)
		for _, fresh := range []bool{false, true} {
			found, err := w.source.Described(t.Context(), slices.Concat(before, joined, good), fresh)
			wantFound, wantUnread := append(slices.Clone(good), before...), joined
			if fresh {
				wantFound, wantUnread = good, append(slices.Clone(before), joined...)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(wantFound)), slices.Sorted(maps.Keys(found))); diff != "" {
				t.Errorf("fresh %t: found (-want +got):\n%s", fresh, diff)
			}
			var unread *awserr.UnreadError
			if !errors.As(err, &unread) || !cloudapi.Is(err, cloudapi.Unavailable) {
				t.Fatalf("fresh %t: %v", fresh, err)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(wantUnread)), unread.IDs); diff != "" {
				t.Errorf("fresh %t: unread (-want +got):\n%s", fresh, diff)
			}
		}
		w.ResetCalls()
		for range 100 {
			_, _ = w.source.Described(t.Context(), slices.Concat(before, joined, good), false)
		}
		w.WantCalls(0)
	})
}

// TestInstanceThatCannotBeParsedBlocksNoOther gives one instance an address that is none.
func TestInstanceThatCannotBeParsedBlocksNoOther(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	a, b := w.LaunchNamed("a"), w.LaunchNamed("b")
	found, err := w.source.Described(t.Context(), []string{a, b}, true)
	if err != nil {
		t.Fatal(err)
	}
	broken := *found[a]
	broken.NetworkInterfaces = slices.Clone(broken.NetworkInterfaces)
	broken.NetworkInterfaces[0] = simtest.NetworkInterface(0, "10.0.0.256")
	got := w.source.convert(t.Context(), w.conn, []ec2types.Instance{broken, *found[b]})
	if len(got) != 2 || got[0].ID != a || got[0].Uncertain == nil || got[1].ID != b || got[1].Uncertain != nil {
		t.Errorf("instances %+v", got)
	}
}

// TestCanceledReadIsNoOutage verifies that the end of one caller's context does not turn the reads of others into reads
// by ID.
func TestCanceledReadIsNoOutage(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	a := w.LaunchNamed("a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.source.Get(ctx, []string{a}); err == nil || w.source.outage.active() {
		t.Errorf("outage %t, %v", w.source.outage.active(), err)
	}
}
