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

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/realservices"
)

// realNodes is the number of nodes in the end.
const realNodes = 4

// TestTakeOverOnRealServices makes what today's manager leaves in real services, at OPENSTACK_LAB, and takes it over:
// nothing is written, and members follow the nodes. hack/e2e-openstack.sh runs it.
func TestTakeOverOnRealServices(t *testing.T) {
	dir := os.Getenv("OPENSTACK_LAB")
	if dir == "" {
		t.Skip("OPENSTACK_LAB names no lab: hack/e2e-openstack.sh starts one")
	}
	r, cloud := newRealRig(t, dir, Settings{CreateMonitor: true, ManageSecurityGroups: true})
	other, err := cloud.Subnet()
	if err != nil {
		t.Fatal(err)
	}
	joining := r.nodes[realNodes-1]
	r.nodes = r.nodes[:realNodes-1]
	r.takeOverFleet(other, joining)
	list, err := r.api.ListLoadBalancers(t.Context())
	if fips := r.fips(); err != nil || len(list) > 0 || len(fips) != 1 {
		t.Errorf("%d load balancers are left, error %v, and %d floating IPs, want the one that its Service keeps", len(list),
			err, len(fips))
	}
}

var quotedKey = regexp.MustCompile(`(?m)^([a-z-]+) = "(.*)"$`)

// newRealRig returns a rig on a project of real services, with nodes.
func newRealRig(t *testing.T, dir string, settings Settings) (*rig, *realservices.Cloud) {
	t.Helper()
	cloud, err := realservices.New(t.Context(), realservices.Options{Dir: dir, Spares: realNodes})
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
	r := &rig{t: t, front: cloud.Front(), settings: settings, cluster: clusterName, uid: clusterUID,
		privateSubnet: keys["subnet-id"], publicNetwork: keys["floating-network-id"]}
	r.settings.SubnetID, r.settings.FloatingNetworkID = r.privateSubnet, r.publicNetwork
	r.api = api.New(connect(t, r.front, sim.Account{
		Username: keys["username"], Password: keys["password"], ProjectName: keys["tenant-name"],
		DomainName: keys["domain-name"], Region: keys["region"],
	}))
	r.addServers()
	return r, cloud
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
