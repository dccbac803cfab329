package loadbalancer

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/golden"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

const (
	clusterName = "kubernetes"
	clusterUID  = "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"
)

// caller makes calls with gophercloud's clients.
type caller struct {
	services map[string]*gophercloud.ServiceClient
}

func (c *caller) Call(ctx context.Context, r cloudapi.Request, call func(context.Context, *gophercloud.ServiceClient) error) error {
	return oserr.Wrap(r.Service, r.Operation, time.Now(), call(ctx, c.services[r.Service]))
}

// newAPI is what the manager's user can do.
func newAPI(t *testing.T, cloud *sim.Cloud, a sim.Account) *api.Clients {
	t.Helper()
	return api.New(connect(t, cloud.Front(), a))
}

func connect(t *testing.T, front *kit.Front, a sim.Account) *caller {
	t.Helper()
	p, err := openstack.NewClient("http://openstack.invalid/identity/v3")
	if err != nil {
		t.Fatal(err)
	}
	p.HTTPClient = http.Client{Transport: front.Transport()}
	err = openstack.AuthenticateV3(t.Context(), p, &gophercloud.AuthOptions{
		Username: a.Username, Password: a.Password, DomainName: a.DomainName, TenantName: a.ProjectName, AllowReauth: true,
	}, gophercloud.EndpointOpts{})
	if err != nil {
		t.Fatal(err)
	}
	result, _ := p.GetAuthResult().(tokens.CreateResult)
	token, err := api.NewToken(result)
	if err == nil {
		err = p.SetTokenAndAuthResult(token)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &caller{services: map[string]*gophercloud.ServiceClient{}}
	for kind, connect := range map[string]func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error){
		api.Network: openstack.NewNetworkV2, api.LoadBalancing: openstack.NewLoadBalancerV2, api.KeyManager: openstack.NewKeyManagerV1,
	} {
		if c.services[kind], err = connect(p, gophercloud.EndpointOpts{Region: a.Region}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// rig is a manager of load balancers alone, in process with a simulated cloud, in a bubble where time is cheap.
type rig struct {
	t *testing.T
	// sim is nil for real services.
	sim      *sim.Cloud
	front    *kit.Front
	api      *api.Clients
	settings Settings
	nodes    []*v1.Node
	cluster  string
	uid      string
	// privateSubnet is that of the nodes, publicNetwork that of floating IPs.
	privateSubnet, publicNetwork string
	// annotates makes the manager write the annotations of Services.
	annotates bool
	// wrap, where set, stands between the manager and the cloud.
	wrap func(*api.Clients) API
	// named are IDs and the names that a test has given them.
	named golden.Names

	cloud    *Cloud
	manager  *lbcommon.Controller
	recorder *record.FakeRecorder
}

// bubble runs a test with a rig of three nodes.
func bubble(t *testing.T, o sim.Options, settings Settings, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, o, settings)
		test(r)
		for _, leak := range r.sim.Leaks() {
			t.Error("leaked:", leak)
		}
		if err := r.sim.Check(); err != nil {
			t.Error(err)
		}
	})
}

func newRig(t *testing.T, o sim.Options, settings Settings) *rig {
	t.Helper()
	cloud, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, sim: cloud, front: cloud.Front(), api: newAPI(t, cloud, cloud.Account()), settings: settings, cluster: clusterName, uid: clusterUID}
	places := cloud.Places()
	r.privateSubnet, r.publicNetwork = places.PrivateSubnet, places.PublicNetwork
	if settings.SubnetID == "" && settings.NetworkID == "" {
		r.settings.SubnetID = places.PrivateSubnet
	}
	if settings.FloatingNetworkID == "" {
		r.settings.FloatingNetworkID = places.PublicNetwork
	}
	for i := range 3 {
		r.launch(fmt.Sprintf("node-%d", i))
	}
	r.restart()
	return r
}

// restart gives the rig a new manager, which knows nothing.
func (r *rig) restart() {
	r.recorder = record.NewFakeRecorder(1000)
	var client API = r.api
	if r.wrap != nil {
		client = r.wrap(r.api)
	}
	lister := &nodes.LazyLister{}
	lister.Set(rigNodes{rig: r}, nil)
	r.cloud = New(Options{API: client, Settings: r.settings, Nodes: lister, ServerID: func(id string) (string, error) {
		server, ok := strings.CutPrefix(id, "openstack:///")
		if !ok {
			return "", fmt.Errorf("%q is not ours", id)
		}
		return server, nil
	}})
	r.manager = lbcommon.New(lbcommon.Options{Provider: "openstack", Vocabulary: annotation.Vocabulary("openstack")}, r.cloud)
	r.manager.SetRuntime(r.runtime())
	r.front.Log().Reset()
}

// runtime returns the access of a manager to the cluster.
func (r *rig) runtime() provider.Runtime {
	runtime := provider.Runtime{Recorder: r.recorder, ClusterUID: r.uid, SetCondition: setCondition}
	if r.annotates {
		runtime.Annotate = func(_ context.Context, svc *v1.Service, annotations map[string]string) error {
			maps.Copy(svc.Annotations, annotations)
			return nil
		}
	}
	return runtime
}

// setCondition sets or removes a condition of a Service, as the API server does.
func setCondition(_ context.Context, svc *v1.Service, condition metav1.Condition) error {
	if condition.Status == "" {
		meta.RemoveStatusCondition(&svc.Status.Conditions, condition.Type)
	} else {
		meta.SetStatusCondition(&svc.Status.Conditions, condition)
	}
	return nil
}

// rigNodes lists the nodes of a rig.
type rigNodes struct {
	corelisters.NodeLister
	rig *rig
}

func (l rigNodes) List(labels.Selector) ([]*v1.Node, error) { return l.rig.nodes, nil }

func (r *rig) launch(name string) *v1.Node {
	r.t.Helper()
	node, err := r.sim.Launch(world.Machine{Name: name})
	if err != nil {
		r.t.Fatal(err)
	}
	id := r.sim.Server(node.Name)
	ports, err := r.api.ListPorts(r.t.Context(), api.PortFilter{DeviceIDs: []string{id}})
	if err != nil {
		r.t.Fatal(err)
	}
	node.Spec.ProviderID = "openstack:///" + id
	for _, f := range ports[0].FixedIPs {
		node.Status.Addresses = append(node.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: f.Address})
	}
	r.nodes = append(r.nodes, node)
	return node
}

// service returns a Service of two TCP ports.
func service(change ...func(*v1.Service)) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: types.UID("11111111-2222-3333-4444-555555555555"), Annotations: map[string]string{}},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{
			{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080},
			{Name: "https", Protocol: v1.ProtocolTCP, Port: 443, NodePort: 30443},
		}},
	}
	for _, f := range change {
		f(svc)
	}
	return svc
}

// named gives the Service another name, and an UID to go with it.
func named(name string) func(*v1.Service) {
	return func(svc *v1.Service) {
		svc.Name = name
		svc.UID = types.UID(fmt.Sprintf("%x", fmt.Sprintf("%-16s", name)))
	}
}

// annotate sets annotations. Keys without a slash have today's prefix.
func annotate(pairs ...string) func(*v1.Service) {
	return func(svc *v1.Service) {
		for i := 0; i < len(pairs); i += 2 {
			key := pairs[i]
			if !strings.Contains(key, "/") {
				key = annotation.Prefix + key
			}
			svc.Annotations[key] = pairs[i+1]
		}
	}
}

// internal makes the load balancer one without a floating IP.
func internal(svc *v1.Service) { svc.Annotations[annotation.KeyInternal] = "true" }

func (r *rig) ensure(svc *v1.Service) *v1.LoadBalancerStatus {
	r.t.Helper()
	status, err := r.manager.EnsureLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes)
	if err != nil {
		r.t.Fatalf("ensure: %v", err)
	}
	svc.Status.LoadBalancer = *status // as the framework does
	return status
}

func (r *rig) ensureError(svc *v1.Service, texts ...string) error {
	r.t.Helper()
	_, err := r.manager.EnsureLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes)
	if err == nil {
		r.t.Fatal("ensure: no error")
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			r.t.Errorf("the error lacks %q: %v", text, err)
		}
	}
	return err
}

func (r *rig) update(svc *v1.Service) {
	r.t.Helper()
	if err := r.manager.UpdateLoadBalancer(r.t.Context(), r.cluster, svc, r.nodes); err != nil {
		r.t.Fatalf("update: %v", err)
	}
}

func (r *rig) remove(svc *v1.Service) {
	r.t.Helper()
	if err := r.manager.EnsureLoadBalancerDeleted(r.t.Context(), r.cluster, svc); err != nil {
		r.t.Fatalf("delete: %v", err)
	}
}

// steady checks that nothing is left to do, for the snapshot and for a manager that knows nothing.
func (r *rig) steady(svc *v1.Service) {
	r.t.Helper()
	r.front.Log().Reset()
	r.ensure(svc)
	r.restart()
	r.ensure(svc)
	if m := r.mutations(); len(m) > 0 {
		r.t.Errorf("changes where there are none to make: %v", m)
	}
}

func (r *rig) mutations() []string { return operations(r.front.Log().Mutations()) }

// calls are all calls but those for tokens.
func (r *rig) calls() []string {
	return slices.DeleteFunc(operations(r.front.Log().Calls()), func(s string) bool { return strings.Contains(s, "Token") })
}

func operations(calls []kit.Call) []string {
	list := make([]string, len(calls))
	for i, c := range calls {
		list[i] = c.Name
	}
	return list
}

func (r *rig) balancer() api.LoadBalancer {
	r.t.Helper()
	list, err := r.api.ListLoadBalancers(r.t.Context())
	if err != nil || len(list) != 1 {
		r.t.Fatalf("%d load balancers, %v", len(list), err)
	}
	return list[0]
}

// nothing checks that no load balancer, floating IP or security group of ours is left.
func (r *rig) nothing() {
	r.t.Helper()
	o := r.sim.Objects()
	for _, kind := range []string{"load-balancers", "listeners", "pools", "members", "health-monitors", "floating-ips"} {
		if o[kind] != 0 {
			r.t.Errorf("%d %s are left", o[kind], kind)
		}
	}
	groups, err := r.api.ListSecurityGroups(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, g := range groups {
		if strings.HasPrefix(g.Name, "lb-sg-") {
			r.t.Errorf("the security group %s is left", g.Name)
		}
	}
}

// events are the texts of Warning Events so far.
func (r *rig) events() []string {
	var list []string
	for {
		select {
		case e := <-r.recorder.Events:
			list = append(list, e)
		default:
			return list
		}
	}
}

func (r *rig) wantEvent(text string) {
	r.t.Helper()
	list := r.events()
	if !slices.ContainsFunc(list, func(e string) bool { return strings.Contains(e, text) }) {
		r.t.Errorf("no event says %q: %q", text, list)
	}
}

func lbName(name string) string {
	return names.LoadBalancer(clusterName, types.NamespacedName{Namespace: "default", Name: name})
}

func contextWithTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}

// restartQuietly replaces the manager in the middle of its work, as a kill does.
func (r *rig) restartQuietly() {
	old := r.recorder
	r.restart()
	r.recorder = old
}

// sleep lets the bubble's time pass.
func (r *rig) sleep(d time.Duration) {
	r.t.Helper()
	time.Sleep(d)
}
