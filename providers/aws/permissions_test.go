package aws_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/providers/aws"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/iam"
)

// policyFile is the policy that we tell people to give the manager.
const policyFile = "../../deploy/aws/iam-policy.json"

// policy is the policy of the cluster in the simulated cloud.
func policy(t testing.TB) []byte {
	t.Helper()
	document, err := os.ReadFile(policyFile)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(document, []byte("CLUSTER_ID"), []byte("sim"))
}

// usage collects the actions that were used in many worlds.
type usage struct {
	mu      sync.Mutex
	actions map[string]bool
	worlds  int
}

func (u *usage) add(world *sim.Cloud) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.worlds++
	if u.actions == nil {
		u.actions = map[string]bool{}
	}
	for _, action := range world.UsedActions() {
		u.actions[action] = true
	}
}

// managerOn starts managers on a world, with these lines in section [Global].
func managerOn(world *sim.Cloud, lines string) conformance.Manager {
	return func(o conformance.ManagerOptions) (cloudprovider.Interface, error) {
		cfg, _, err := config.Read("", fmt.Appendf(nil, "[Global]\nRegion = %s\nVPC = %s\nKubernetesClusterID = %s\n%s",
			world.Region(), world.VPC(), world.ClusterID(), lines))
		if err != nil {
			return nil, err
		}
		cloud, err := aws.NewCloud(cfg, aws.WithTransport(world.Front().Transport()),
			aws.WithCredentials(credentials.NewStaticCredentialsProvider("AKIASIMULATED", "simulated", "")))
		if err != nil {
			return nil, err
		}
		return guard.Wrap(cloud, guard.Options{DryRun: o.DryRun, Disruption: o.Disruption}), nil
	}
}

// TestPermissions runs every scenario under the policy, which the simulator enforces, and demands that no action
// of the policy goes unused.
func TestPermissions(t *testing.T) {
	document := policy(t)
	parsed, err := iam.Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	var used usage
	t.Run("scenarios", func(t *testing.T) {
		for name, generation := range generations() {
			s := subject(generation)
			s.New = func(t testing.TB) (conformance.World, conformance.Manager) {
				world, err := sim.New(sim.Options{Policy: document, ProvisionTime: 3 * time.Second, DrainTime: 2 * time.Second, ReleaseTime: 2 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { used.add(world) })
				return world, managerOn(world, "")
			}
			t.Run(name, func(t *testing.T) { conformance.Run(t, s) })
		}
	})
	t.Run("annotations", func(t *testing.T) {
		l := newLife(t, document)
		before := l.world.Objects()
		l.networkLife()
		l.classicLife()
		l.leavesNothing(before)
		l.nodeLife(t.Context())
		used.add(l.world)
	})
	if all := len(conformance.Scenarios()); t.Failed() || used.worlds < all {
		t.Logf("%d worlds, of at least %d: what is unused shows only after all of them", used.worlds, all)
		return
	}
	var idle []string
	for _, action := range parsed.Actions() {
		if !used.actions[action] {
			idle = append(idle, action)
		}
	}
	if len(idle) > 0 {
		t.Errorf("the policy allows what nothing uses: %s", strings.Join(idle, ", "))
	}
	for _, action := range slices.Sorted(maps.Keys(used.actions)) {
		if strings.HasPrefix(action, "sts:") {
			t.Errorf("%s is used, and is not in the policy", action)
		}
	}
}
