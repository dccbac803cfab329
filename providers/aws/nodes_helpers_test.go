package aws

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// nodeWorld is a simulated AWS, its EC2 client, and the sources under test over it.
type nodeWorld struct {
	t      *testing.T
	cloud  *sim.Cloud
	ec2    *ec2.Client
	scope  scope
	ids    *instances.TableScheme
	source *instanceSource
}

// topologyTypes is the default of the configuration.
var topologyTypes = regexp.MustCompile(`^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\.[0-9a-z]*)$`)

func newNodeWorld(t *testing.T, o sim.Options, families ...string) *nodeWorld {
	t.Helper()
	cloud, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &nodeWorld{t: t, cloud: cloud}
	w.ec2 = ec2.NewFromConfig(simtest.Config(cloud))
	w.scope = scope{ClusterID: cloud.ClusterID(), VPC: cloud.VPC(), Region: cloud.Region()}
	w.ids = names.ProviderIDs(func() string { return w.scope.Region })
	if len(families) == 0 {
		families = []string{FamilyIPv4}
	}
	w.source = newInstanceSource(instanceSourceOptions{
		EC2: w.ec2, Scope: func(context.Context) (scope, error) { return w.scope, nil }, ProviderIDs: w.ids,
		Families: families, TopologyTypes: topologyTypes, Clock: clock.RealClock{},
	})
	cloud.Front().Log().Reset()
	return w
}

// instances puts package instances over the source, as the provider does.
func (w *nodeWorld) instances() *instances.Instances { return w.instancesWith(nil) }

func (w *nodeWorld) instancesWith(lister *nodes.LazyLister) *instances.Instances {
	return instances.New(instances.Options{Provider: names.Scheme, Clock: clock.RealClock{}, IDOfName: idOfName, Nodes: lister}, w.source, w.ids)
}

func (w *nodeWorld) launch(machines ...world.Machine) []*v1.Node {
	w.t.Helper()
	var nodes []*v1.Node
	for _, m := range machines {
		node, err := w.cloud.Launch(m)
		if err != nil {
			w.t.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// machine launches a machine of that name and returns the ID of its instance.
func (w *nodeWorld) machine(name string) string {
	w.t.Helper()
	w.launch(world.Machine{Name: name})
	return w.cloud.Instance(name)
}

// calls is how many calls were made, by operation, and in all.
func (w *nodeWorld) calls() (map[string]int, int) {
	return w.cloud.Front().Log().Count(), w.cloud.Front().Log().Len()
}

// wantCalls fails if more than most calls were made since the last call of it.
func (w *nodeWorld) wantCalls(most int) {
	w.t.Helper()
	counts, all := w.calls()
	w.t.Logf("%d calls: %v", all, counts)
	if all > most {
		w.t.Errorf("%d calls %v, want at most %d", all, counts, most)
	}
	w.cloud.Front().Log().Reset()
}

// setTags replaces the tags of an object.
func (w *nodeWorld) setTags(id string, tags map[string]string) {
	w.t.Helper()
	if _, err := w.ec2.DeleteTags(w.t.Context(), &ec2.DeleteTagsInput{Resources: []string{id}}); err != nil {
		w.t.Fatal(err)
	}
	var list []ec2types.Tag
	for k, v := range tags {
		list = append(list, ec2types.Tag{Key: &k, Value: &v})
	}
	if _, err := w.ec2.CreateTags(w.t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: list}); err != nil {
		w.t.Fatal(err)
	}
}

// dashes writes an address as it stands in names.
func dashes(address string) string { return strings.ReplaceAll(address, ".", "-") }
