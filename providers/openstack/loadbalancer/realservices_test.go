package loadbalancer

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/realworld"
)

const (
	// realServices is how many Services are taken over on real services, realNodes how many nodes there are in the end.
	realServices = 10
	realNodes    = 4
)

// TestTakeOverOnRealServices makes what today's manager leaves in real services, at OPENSTACK_LAB, and takes it over:
// nothing is written, and members follow the nodes. hack/e2e-openstack.sh runs it.
func TestTakeOverOnRealServices(t *testing.T) {
	dir := os.Getenv("OPENSTACK_LAB")
	if dir == "" {
		t.Skip("OPENSTACK_LAB names no lab: hack/e2e-openstack.sh starts one")
	}
	r := newRealRig(t, dir)
	const kinds = 10
	services := fleet(realServices)
	joining := r.nodes[realNodes-1]
	r.nodes = r.nodes[:realNodes-1]
	for _, svc := range services {
		lb := legacy{r: r, svc: svc}.balancer()
		annotate("load-balancer-id", lb.ID)(svc)
	}
	r.awaitActive()
	before := r.records(true)
	r.annotates = true
	for _, sync := range []string{"the first sync", "the first sync of the next manager"} {
		r.restart()
		together(services, func(svc *v1.Service) { r.ensure(svc) })
		r.wantCalls(sync, kinds+2*realServices)
		if m := r.mutations(); len(m) > 0 {
			t.Errorf("%s changes %v", sync, m)
		}
	}
	if diff := gocmp.Diff(before, r.records(true)); diff != "" {
		t.Errorf("what changed (-before +after):\n%s", diff)
	}
	for _, nodes := range [][]*v1.Node{append(slices.Clone(r.nodes), joining), r.nodes[1:]} {
		r.nodes = nodes
		r.front.Log().Reset()
		together(services, func(svc *v1.Service) { r.update(svc) })
		m := r.mutations()
		t.Logf("%d nodes: %d calls, %d changes", len(nodes), len(r.calls()), len(m))
		if len(m) != 2*realServices || slices.ContainsFunc(m, func(m string) bool { return m != "BatchUpdateMembers" }) {
			t.Errorf("changes %v, want one of the members of each pool", m)
		}
		r.wantMembers(len(nodes))
	}
	r.front.Log().Reset()
	together(services, func(svc *v1.Service) { r.remove(svc) })
	if list, err := r.api.ListLoadBalancers(t.Context()); err != nil || len(list)+len(r.fips()) > 0 {
		t.Errorf("%d load balancers and %d floating IPs are left, error %v", len(list), len(r.fips()), err)
	}
}

var quotedKey = regexp.MustCompile(`(?m)^([a-z-]+) = "(.*)"$`)

// newRealRig returns a rig on a project of real services, with nodes.
func newRealRig(t *testing.T, dir string) *rig {
	t.Helper()
	cloud, err := realworld.New(t.Context(), realworld.Options{Dir: dir, Spares: realNodes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Errorf("removing the project: %v", err)
		}
	})
	keys := map[string]string{}
	for _, m := range quotedKey.FindAllStringSubmatch(cloud.CloudConfig("http://openstack.invalid"), -1) {
		keys[m[1]] = m[2]
	}
	r := &rig{t: t, front: cloud.Front(), cluster: clusterName, uid: clusterUID,
		privateSubnet: keys["subnet-id"], publicNetwork: keys["floating-network-id"]}
	r.settings.SubnetID, r.settings.FloatingNetworkID = r.privateSubnet, r.publicNetwork
	r.api = api.New(connect(t, r.front, sim.Account{
		Username: keys["username"], Password: keys["password"], ProjectName: keys["tenant-name"],
		DomainName: keys["domain-name"], Region: keys["region"],
	}))
	r.addServers()
	return r
}

// addServers waits for the ports of the servers, and makes nodes of them.
func (r *rig) addServers() {
	r.t.Helper()
	var ports []api.Port
	r.poll(5*time.Minute, "servers with a port", func(ctx context.Context) (bool, error) {
		var err error
		ports, err = r.api.ListPorts(ctx, api.PortFilter{})
		ports = slices.DeleteFunc(ports, func(p api.Port) bool {
			return !strings.HasPrefix(p.DeviceOwner, "compute:") || len(p.FixedIPs) == 0
		})
		return len(ports) == realNodes, err
	})
	slices.SortFunc(ports, func(a, b api.Port) int { return cmp.Compare(a.ID, b.ID) })
	for i, p := range ports {
		r.nodes = append(r.nodes, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)},
			Spec:       v1.NodeSpec{ProviderID: "openstack:///" + p.DeviceID},
			Status: v1.NodeStatus{Addresses: []v1.NodeAddress{
				{Type: v1.NodeInternalIP, Address: p.FixedIPs[0].Address},
			}},
		})
	}
}

// poll waits until a condition of the real services holds.
func (r *rig) poll(timeout time.Duration, what string, done wait.ConditionWithContextFunc) {
	r.t.Helper()
	if err := wait.PollUntilContextTimeout(r.t.Context(), time.Second, timeout, true, done); err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
}

// awaitActive waits until all load balancers are ACTIVE, as the other manager leaves them.
func (r *rig) awaitActive() {
	r.t.Helper()
	r.poll(10*time.Minute, "load balancers that are ACTIVE", func(ctx context.Context) (bool, error) {
		list, err := r.api.ListLoadBalancers(ctx)
		return !slices.ContainsFunc(list, func(lb api.LoadBalancer) bool { return lb.ProvisioningStatus != api.Active }), err
	})
}

// wantMembers checks the number of members of each pool.
func (r *rig) wantMembers(n int) {
	r.t.Helper()
	pools, err := r.api.ListPools(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range pools {
		members, err := r.api.ListMembers(r.t.Context(), p.ID)
		if err != nil || len(members) != n {
			r.t.Errorf("%d members of %s, want %d, error %v", len(members), p.Name, n, err)
		}
	}
}
