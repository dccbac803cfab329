package aws

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// newManager is a manager with an empty memory and these lines in section [Global].
func newManager(t *testing.T, rt http.RoundTripper, conf string) *Cloud {
	t.Helper()
	cfg, _, err := config.Read("", []byte("[Global]\n"+conf))
	if err != nil {
		t.Fatal(err)
	}
	return newManagerOf(t, rt, cfg)
}

func newManagerOf(t *testing.T, rt http.RoundTripper, cfg config.Config) *Cloud {
	t.Helper()
	c, err := NewCloud(cfg, WithTransport(rt), WithCredentials(credentials.NewStaticCredentialsProvider("AKIAEXAMPLE", "secret", "")))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewCloudMakesNoCalls(t *testing.T) {
	world, _ := simtest.WithSelf(t, sim.Options{})
	c := newManager(t, world.Front().Transport(), "")
	if got := simtest.Operations(world); len(got) > 0 {
		t.Errorf("NewCloud makes calls: %v", got)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"PutToken", "GetMetadata", "GetMetadata", "DescribeInstances", "GetCallerIdentity"}
	if diff := cmp.Diff(want, simtest.Operations(world)); diff != "" {
		t.Errorf("calls of Check (-want +got):\n%s", diff)
	}
	p, err := c.connection.Get(t.Context())
	if err != nil || p.environment.Region != "us-west-2" || p.environment.ClusterID != "sim" || !strings.HasPrefix(p.environment.VPC, "vpc-") || !strings.HasPrefix(p.environment.Subnet, "subnet-") {
		t.Errorf("environment %+v, %v", p.environment, err)
	}
}

func TestCheckWithoutMetadataService(t *testing.T) {
	world, node := simtest.WithSelf(t, sim.Options{})
	world.Front().SetFaults(kit.Fault{Kind: kit.FaultError, Operation: "GetMetadata", Times: kit.Always})
	c := newManager(t, world.Front().Transport(), "Region = us-west-2\nVPC = vpc-0123\nKubernetesClusterID = sim\n")
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"GetCallerIdentity"}, simtest.Operations(world)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	node.Spec.ProviderID = "aws:///us-west-2a/" + world.Instance("self")
	if _, err := c.instances.InstanceMetadata(t.Context(), node); err != nil {
		t.Error(err)
	}
}

func TestOwnsNode(t *testing.T) {
	world, _ := simtest.WithSelf(t, sim.Options{})
	c := newManager(t, world.Front().Transport(), "")
	node := func(id string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: v1.NodeSpec{ProviderID: id}}
	}
	if got := c.OwnsNode(node("aws:///us-east-1a/i-0123")); got != provider.Mine {
		t.Errorf("before the region is known: %s", got)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]provider.Ownership{
		"aws:///us-west-2a/i-0123": provider.Mine, "aws:///us-east-1a/i-0123": provider.Foreign, "gce://p/z/i-0123": provider.Foreign, "": provider.Unknown,
	} {
		if got := c.OwnsNode(node(id)); got != want {
			t.Errorf("%s: got %s, want %s", id, got, want)
		}
	}
}

func TestDeniedIsNotDeleted(t *testing.T) {
	world, node := simtest.WithSelf(t, sim.Options{Allow: func(action string) bool { return !strings.HasPrefix(action, "ec2:") }})
	c := newManager(t, world.Front().Transport(), "Region = us-west-2\nVPC = vpc-0123\nKubernetesClusterID = sim\n")
	node.Spec.ProviderID = "aws:///us-west-2a/" + world.Instance("self")
	exists, err := c.instances.InstanceExists(t.Context(), node)
	if !cloudapi.Is(err, cloudapi.Denied) {
		t.Errorf("exists %v, %v: want denied", exists, err)
	}
}
