package aws_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// policies are the policies that the documentation gives the manager.
const policies = "../../deploy/aws/iam-policy*.json"

// policy returns one policy of the cluster in the simulated cloud, with the statements of all policies.
func policy(t testing.TB) []byte {
	t.Helper()
	files, err := filepath.Glob(policies)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d policies, %v", len(files), err)
	}
	var all struct {
		Version   string
		Statement []json.RawMessage
	}
	for _, file := range files {
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		statements := all.Statement
		all.Statement = nil
		if err := json.Unmarshal(document, &all); err != nil {
			t.Fatal(err)
		}
		all.Statement = slices.Concat(statements, all.Statement)
	}
	document, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(document, []byte("CLUSTER_ID"), []byte("sim"))
}

// usage collects what the policy decided in many worlds.
type usage struct {
	mu          sync.Mutex
	permissions sim.Permissions
	worlds      int
}

func (u *usage) add(world *sim.Cloud) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.worlds++
	u.permissions.Add(world.Permissions())
}

// managerOn starts managers on a world, with these lines in section [Global].
func managerOn(world *sim.Cloud, lines string) conformance.Manager {
	return func(o conformance.ManagerOptions) (cloudprovider.Interface, error) {
		cloud, err := newCloud(world, lines)
		if err != nil {
			return nil, err
		}
		return guard.Wrap(cloud, guard.Options{DryRun: o.DryRun, Disruption: o.Disruption, Started: o.Started}), nil
	}
}

// newCloud returns the provider on a world, with these lines in section [Global].
func newCloud(world *sim.Cloud, lines string, o ...aws.Option) (*aws.Cloud, error) {
	cfg, _, err := config.Read("", fmt.Appendf(nil, "[Global]\nRegion = %s\nVPC = %s\nKubernetesClusterID = %s\n%s",
		world.Region(), world.VPC(), world.ClusterID(), lines))
	if err != nil {
		return nil, err
	}
	return aws.NewCloud(cfg, append(o, aws.WithTransport(world.Front().Transport()),
		aws.WithCredentials(credentials.NewStaticCredentialsProvider("AKIASIMULATED", "simulated", "")))...)
}

// TestPermissions runs every scenario under the policy, which the simulator enforces. It fails for each action and
// resource of the policy without which nothing would be denied, and for each request that is denied. A policy with an
// element more, or an element less, fails.
func TestPermissions(t *testing.T) {
	document := policy(t)
	parsed, err := iam.Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	used := usage{permissions: sim.NewPermissions()}
	t.Run("scenarios", func(t *testing.T) {
		for name, generation := range generations() {
			s := subject(generation)
			s.New = func(t testing.TB) (conformance.World, conformance.Manager) {
				world, err := sim.New(sim.Options{Policy: document, ProvisionTime: 3 * time.Second, DrainTime: 2 * time.Second,
					ReleaseTime: 2 * time.Second})
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
		l := newPolicyScenarios(t, document)
		before := l.world.Objects()
		l.changeNetworkLoadBalancer()
		l.changeClassicLoadBalancer()
		l.wantNoLoadBalancers(before)
		l.takeOverUntagged()
		l.wantNoLoadBalancers(before)
		l.changeNodes(t.Context())
		used.add(l.world)
	})
	for _, request := range slices.Sorted(maps.Keys(used.permissions.Denied)) {
		t.Errorf("the policy denies %s", request)
	}
	if all := len(conformance.Scenarios()); t.Failed() || used.worlds < all {
		t.Logf("%d worlds, of at least %d: what is unused shows only after all of them", used.worlds, all)
		return
	}
	for _, e := range parsed.Elements() {
		if !used.permissions.Required[e] {
			t.Errorf("statement %s allows what nothing requires: %s", e.Sid, e.Pattern)
		}
	}
}
