package openstack

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// simURL is Keystone of a simulated cloud in this process; no name is looked up.
const simURL = "http://openstack.invalid/identity/v3"

// nodeWorld is a simulated OpenStack and what is under test over it.
type nodeWorld struct {
	t      *testing.T
	cloud  *sim.Cloud
	client *client
	api    *api.Clients
	source *instanceSource
	ids    *instances.TableScheme
	clock  clock.Clock
}

// accountGlobal is the section [Global] for an application credential of the cloud.
func accountGlobal(c *sim.Cloud) Global {
	a := c.Account()
	return Global{
		AuthURL: simURL, ApplicationCredentialID: a.ApplicationCredentialID, ApplicationCredentialSecret: config.Secret(a.ApplicationCredentialSecret),
		Region: a.Region, RequestTimeout: config.Duration{Duration: 10 * time.Second},
	}
}

func newNodeWorld(t *testing.T, o sim.Options, networking Networking) *nodeWorld {
	t.Helper()
	cloud, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	w := &nodeWorld{t: t, cloud: cloud, clock: o.Clock}
	g := accountGlobal(cloud)
	w.client = newClient(clientOptions{Global: g, Transport: cloud.Front().Transport(), Clock: o.Clock})
	w.api = api.New(w.client)
	w.ids = names.ProviderIDs(g.Region)
	w.source = newInstanceSource(instanceSourceOptions{
		Compute: w.api, Network: w.api, ProviderIDs: w.ids, Region: g.Region, Networking: networking, Clock: o.Clock,
	})
	return w
}

// authenticated gets a token, which is not counted with what follows.
func (w *nodeWorld) authenticated() *nodeWorld {
	w.t.Helper()
	if _, err := w.client.session(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.cloud.Front().Log().Reset()
	return w
}

func (w *nodeWorld) launch(n int) []*v1.Node {
	w.t.Helper()
	var nodes []*v1.Node
	for i := range n {
		node, err := w.cloud.Launch(world.Machine{Name: fmt.Sprintf("node-%d", i), PodCIDRs: []string{fmt.Sprintf("10.%d.%d.0/24", 128+i/256, i%256)}})
		if err != nil {
			w.t.Fatal(err)
		}
		node.UID = "" // set by a control plane
		nodes = append(nodes, node)
	}
	w.cloud.Front().Log().Reset()
	return nodes
}

// initialised gives nodes what the node controller would.
func (w *nodeWorld) initialised(nodes []*v1.Node) {
	w.t.Helper()
	for _, node := range nodes {
		node.Spec.ProviderID = "openstack:///" + w.cloud.Server(node.Name)
		node.Spec.Taints = nil
	}
}

// wantCalls fails if more than most calls were made since the last call of it.
func (w *nodeWorld) wantCalls(most int) {
	w.t.Helper()
	log := w.cloud.Front().Log()
	w.t.Logf("%d calls: %v", log.Len(), log.Count())
	if log.Len() > most {
		w.t.Errorf("%d calls %v, want at most %d", log.Len(), log.Count(), most)
	}
	log.Reset()
}
