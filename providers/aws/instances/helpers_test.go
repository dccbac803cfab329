package instances

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// testCloud is a simulated AWS with a Source over it.
type testCloud struct {
	*simtest.Cloud
	conn   Connection
	ids    *commoninstances.TableScheme
	source *Source
}

// topologyTypes is the default of the configuration.
var topologyTypes = regexp.MustCompile(`^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\.[0-9a-z]*)$`)

func newTestCloud(t *testing.T, o sim.Options, families ...string) *testCloud {
	t.Helper()
	w := &testCloud{Cloud: simtest.New(t, o)}
	sim := w.Cloud.Cloud
	w.conn = Connection{w.EC2, Scope{ClusterID: sim.ClusterID(), VPC: sim.VPC(), Region: sim.Region()}}
	w.ids = names.ProviderIDs(func() string { return w.conn.Region })
	if len(families) == 0 {
		families = []string{config.FamilyIPv4}
	}
	w.source = New(Options{
		Connect: func(context.Context) (Connection, error) { return w.conn, nil }, ProviderIDs: w.ids,
		Families: families, TopologyTypes: topologyTypes, Clock: clock.RealClock{},
	})
	w.ResetCalls()
	return w
}

// instances returns the InstancesV2 over the source.
func (w *testCloud) instances() *commoninstances.Instances { return w.instancesWith(nil) }

func (w *testCloud) instancesWith(lister *nodes.LazyLister) *commoninstances.Instances {
	return commoninstances.New(commoninstances.Options{
		Provider: names.Scheme, Clock: clock.RealClock{}, IDOfName: IDOfNodeName, Nodes: lister,
	}, w.source, w.ids)
}

// dashes replaces the dots of an address, as in private DNS names.
func dashes(address string) string { return strings.ReplaceAll(address, ".", "-") }
