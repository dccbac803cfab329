package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/internal/auditcmd"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/client"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
)

// TestAuditDeletesOrphans plants orphans of each kind beside the objects of a Service, of a Service of another cluster
// with the same name, and an address that is in use again. ccm audit finds exactly the orphans, also without permission
// for a list, and deletes exactly these. It runs on real services too.
func TestAuditDeletesOrphans(t *testing.T) {
	t.Parallel()
	a := newAuditedCluster(t)
	a.plantOrphans()
	planted := a.dump()

	t.Run("without permission for load balancers", func(t *testing.T) {
		a.withoutLoadBalancers(t, func(args ...string) {
			found, code := a.audit(append(args, "--configure-cloud-routes=false", "--delete-orphans", "--yes")...)
			if code != exitEnvironment || len(found.Failures) == 0 {
				t.Errorf("exit code %d, failures %q", code, found.Failures)
			}
			for _, o := range found.Objects {
				if o.State == inventory.Orphaned && o.Kind != kindGroup {
					t.Errorf("%s %s is called an orphan", o.Kind, o.Name)
				}
			}
		})
		if diff := cmp.Diff(planted, a.dump()); diff != "" {
			t.Errorf("objects (-before +after the audit):\n%s", diff)
		}
	})

	created := world.MissingObjects(a.inventory(), a.before)
	found, code := a.audit()
	if code != exitChanges || len(found.Failures) > 0 {
		t.Fatalf("exit code %d, failures %q", code, found.Failures)
	}
	if diff := cmp.Diff(audited(created), orphaned(found)); diff != "" {
		t.Errorf("orphans (-planted +found):\n%s", diff)
	}
	t.Logf("states: %v", found.Summary)
	if !slices.ContainsFunc(found.Objects, func(o auditcmd.DocumentObject) bool {
		return o.ID == a.port && o.State == inventory.Unidentified
	}) {
		t.Errorf("port %s is not unidentified", a.port)
	}
	found, _ = a.audit("--delete-orphans", "--yes")
	for _, d := range found.Deletions {
		want := orphans.Deleted
		if d.Name == a.used {
			want = orphans.Refused
		}
		if d.Outcome != want {
			t.Errorf("%s %s: %s (%s), want %s", d.Kind, d.Name, d.Outcome, d.Reason, want)
		}
	}
	if port, err := a.calls.GetPort(t.Context(), a.port); err != nil {
		t.Errorf("port %s, %v: it was not this cluster's", port.ID, err)
	}
	a.eventually("the objects of before the orphans", func(context.Context) error {
		now := a.dump()
		maps.DeleteFunc(now, func(key, _ string) bool { return key == kindAddress+" "+a.used })
		if diff := cmp.Diff(a.unplanted, now); diff != "" {
			return fmt.Errorf("objects (-before the orphans +after their deletion):\n%s", diff)
		}
		return nil
	})
}

const (
	kindAddress, kindGroup = "floating IP", "security group"
)

// auditedCluster is a cluster beside another one of the same name.
type auditedCluster struct {
	*cluster
	client *client.Client
	calls  *api.Clients
	// unplanted and before are the objects without the orphans.
	unplanted map[string]string
	before    []world.Object
	// port is the ID of the port of a load balancer that does not exist.
	port string
	// used is the floating IP of a deleted Service that is in use again.
	used string
}

// newAuditedCluster creates both clusters, each with a Service.
func newAuditedCluster(t *testing.T) *auditedCluster {
	t.Helper()
	a := &auditedCluster{cluster: newCluster(t, setup{
		provider: openstack.ProviderName, simulator: lab.SimulatorOptions{Services: realServices()},
	})}
	content := a.editConfig(func(text string) string {
		return strings.Replace(text, "[LoadBalancer]\n", "[LoadBalancer]\nmanage-security-groups = true\n", 1)
	})
	cfg, problems, err := config.Read("cloud.conf", []byte(content))
	a.must(err)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	a.client = client.New(client.Options{Global: cfg.Global, Clock: clock.RealClock{}})
	a.calls = api.New(a.client)
	a.must(a.session.JoinN(t.Context(), 2))
	a.start()
	a.createService(a.live, service("web", 80, 443))
	a.awaitRoutes("10.244.1.0/24", "10.244.2.0/24")
	a.createTheirs()
	return a
}

// awaitRoutes waits for the routes of nodes: the route controller sees a node at the first of its periods after the
// node has a provider ID.
func (a *auditedCluster) awaitRoutes(destinations ...string) {
	a.t.Helper()
	a.eventually("the routes of nodes", func(context.Context) error {
		for _, destination := range destinations {
			if !slices.ContainsFunc(a.world.Routes(), func(r world.Route) bool { return r.Destination == destination }) {
				return fmt.Errorf("there is none to %s", destination)
			}
		}
		return nil
	})
}

// editConfig changes the cloud.conf of the manager, and returns it.
func (a *auditedCluster) editConfig(edit func(string) string) string {
	a.t.Helper()
	content, err := os.ReadFile(a.live.Options.CloudConfig)
	a.must(err)
	text := edit(string(content))
	a.must(os.WriteFile(a.live.Options.CloudConfig, []byte(text), 0o600))
	return text
}

// createTheirs creates a Service in another cluster of the same name, with a node of its own.
func (a *auditedCluster) createTheirs() {
	a.t.Helper()
	plane, err := planes.acquire(a.t.Context())
	a.must(err)
	theirs := &cluster{t: a.t, plane: plane, dir: a.t.TempDir()}
	a.t.Cleanup(func() {
		if err := theirs.wipe(); err != nil {
			a.t.Error(err)
		}
		planes.release(plane)
	})
	options := a.live.Options
	options.Kubeconfig, options.Log = plane.Kubeconfig, a.log("theirs.log")
	options.Args = append(slices.Clone(options.Args), "--configure-cloud-routes=false")
	theirs.live = &lab.Live{Client: plane.Client, World: a.world, Options: options}
	node, err := a.world.Launch(world.Machine{Name: "theirs-1"})
	a.must(err)
	a.must(theirs.live.AddNode(a.t.Context(), node), theirs.live.Start(a.t.Context(), conformance.ManagerOptions{}))
	a.createService(theirs.live, service("theirs", 80))
	theirs.live.Stop(a.t.Context())
}

// createService creates a Service and waits for its address, which it returns.
func (a *auditedCluster) createService(live *lab.Live, svc *v1.Service) (address string) {
	a.t.Helper()
	a.must(live.PutService(a.t.Context(), svc))
	a.eventually("the address of Service "+svc.Name, func(ctx context.Context) error {
		now, err := live.Service(ctx, svc.Namespace, svc.Name)
		if err != nil || now == nil || len(now.Status.LoadBalancer.Ingress) == 0 {
			return errors.Join(err, errors.New("it has none"))
		}
		address = now.Status.LoadBalancer.Ingress[0].IP
		return nil
	})
	return address
}

// plantOrphans creates Services and a node, and deletes them while no manager runs. The load balancers of two of the
// Services are deleted by hand, and the address of one of those is in use again.
func (a *auditedCluster) plantOrphans() {
	a.t.Helper()
	ctx := a.t.Context()
	node, err := a.world.Launch(world.Machine{Name: "leaves", PodCIDRs: []string{"10.244.99.0/24"}})
	a.must(err)
	a.before, a.unplanted = a.inventory(), a.dump()
	node.Labels[v1.LabelNodeExcludeBalancers] = ""
	a.must(a.live.AddNode(ctx, node))
	a.createService(a.live, service("whole", 80, 443))
	a.createService(a.live, service("partly", 80))
	a.used = a.createService(a.live, service("moved", 80))
	a.awaitRoutes("10.244.99.0/24")
	a.live.Stop(ctx)
	a.must(a.live.DeleteNode(ctx, node.Name))
	for _, name := range []string{"whole", "partly", "moved"} {
		if name != "whole" {
			a.must(a.world.DeleteLoadBalancer("kube_service_" + conformance.ClusterName + "_" + namespace + "_" + name))
		}
		a.must(a.deleteService(ctx, name))
	}
	a.attach(a.used, "theirs-1")
	a.createPort()
}

// createPort creates a port like those that Octavia leaves behind when it rejects a load balancer. Nothing proves its
// cluster, so that it is unidentified.
func (a *auditedCluster) createPort() {
	a.t.Helper()
	servers, err := a.calls.ListServers(a.t.Context(), "^leaves$")
	a.must(err)
	beside, err := a.calls.ListPorts(a.t.Context(), api.PortFilter{DeviceIDs: []string{servers[0].ID}})
	a.must(err)
	create := func(ctx context.Context, network *gophercloud.ServiceClient) error {
		port, err := ports.Create(ctx, network, ports.CreateOpts{
			NetworkID: beside[0].NetworkID, DeviceOwner: "Octavia", Name: "octavia-lb-11111111-2222-4333-8444-555555555555",
		}).Extract()
		if err == nil {
			a.port = port.ID
		}
		return err
	}
	a.must(a.client.Call(a.t.Context(), cloudapi.Request{Service: api.Network, Operation: "CreatePort", Mutating: true}, create))
}

// deleteService removes a Service without its load balancer.
func (a *auditedCluster) deleteService(ctx context.Context, name string) error {
	services := a.plane.Client.CoreV1().Services(namespace)
	svc, err := services.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	svc.Finalizers = nil
	if _, err = services.Update(ctx, svc, metav1.UpdateOptions{}); err != nil {
		return err
	}
	return services.Delete(ctx, name, metav1.DeleteOptions{})
}

// attach attaches a floating IP to the port of a server.
func (a *auditedCluster) attach(address, server string) {
	a.t.Helper()
	ctx := a.t.Context()
	servers, err := a.calls.ListServers(ctx, "^"+server+"$")
	a.must(err)
	ports, err := a.calls.ListPorts(ctx, api.PortFilter{DeviceIDs: []string{servers[0].ID}})
	a.must(err)
	all, err := a.calls.ListFloatingIPs(ctx, "")
	a.must(err)
	i := slices.IndexFunc(all, func(f api.FloatingIP) bool { return f.FloatingIP == address })
	if i < 0 {
		a.t.Fatalf("no floating IP %s", address)
	}
	_, err = a.calls.UpdateFloatingIP(ctx, all[i].ID, floatingips.UpdateOpts{PortID: &ports[0].ID})
	a.must(err)
}

// withoutLoadBalancers runs a function with an account that may not list load balancers: on real services by their
// policy, on a simulator by a fault.
func (a *auditedCluster) withoutLoadBalancers(t *testing.T, f func(args ...string)) {
	t.Helper()
	restricted, ok := a.world.(interface {
		AccountWithoutLoadBalancers() (string, string, error)
	})
	if !ok {
		a.world.Front().SetFaults(sim.Fault{Kind: sim.FaultError, Operation: "ListLoadBalancers", Times: sim.Always})
		f()
		a.world.Front().SetFaults()
		return
	}
	user, password, err := restricted.AccountWithoutLoadBalancers()
	a.must(err)
	var lines []string
	content := a.editConfig(func(text string) string { return text })
	for line := range strings.Lines(content) {
		switch key, _, _ := strings.Cut(line, " = "); key {
		case "username":
			line = fmt.Sprintf("username = %q\n", user)
		case "password":
			line = fmt.Sprintf("password = %q\n", password)
		}
		lines = append(lines, line)
	}
	f("--cloud-config=" + a.write("restricted.conf", strings.Join(lines, "")))
}

// audit runs ccm audit, also on orphans that are seconds old.
func (a *auditedCluster) audit(args ...string) (found auditcmd.Document, code int) {
	a.t.Helper()
	r, err := a.live.RunCommand(a.t.Context(), "audit",
		append([]string{"--min-age=0s", "--cluster-cidr=10.244.0.0/16", "-o", "json"}, args...)...)
	a.must(err)
	if err := json.Unmarshal(r.Stdout, &found); err != nil {
		a.t.Fatalf("%v: exit status %d: %s", err, r.Code, r.Stderr)
	}
	return found, r.Code
}

func (a *auditedCluster) inventory() []world.Object {
	return a.world.(world.Inventory).Inventory() //nolint:forcetypeassert // both kinds of worlds list their objects
}

// dump returns the fields of all objects, without those that the cloud changes by itself.
func (a *auditedCluster) dump() map[string]string {
	objects := map[string]string{}
	for _, o := range a.inventory() {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(o.Fields)) {
			switch first, _, _ := strings.Cut(name, "."); first {
			case "revision_number", "updated_at", "updated", "operating_status", "provisioning_status":
			case "addresses": // of a server, which are a copy of Neutron's with those of floating IPs
			default:
				fmt.Fprintf(&b, "%s=%s\n", name, o.Fields[name])
			}
		}
		key := o.ID
		if o.Kind == inventory.KindRoute || o.Kind == kindAddress {
			key = o.Name
		}
		objects[o.Kind+" "+key] = b.String()
	}
	return objects
}

// audited returns the objects of the kinds that an audit lists, as orphaned does.
func audited(objects []world.Object) []string {
	var out []string
	for _, o := range objects {
		if o.Kind != "member" && o.Kind != "security group rule" {
			out = append(out, o.Kind+" "+o.Name)
		}
	}
	slices.Sort(out)
	return out
}

// orphaned returns the orphans that an audit has found.
func orphaned(d auditcmd.Document) []string {
	var out []string
	for _, o := range d.Objects {
		if o.State == inventory.Orphaned {
			out = append(out, o.Kind+" "+o.Name)
		}
	}
	slices.Sort(out)
	return out
}
