package openstack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	fakeclient "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/simtest"
)

// accessRules returns the access rules that the documentation recommends for an application credential.
func accessRules(t *testing.T) []sim.AccessRule {
	t.Helper()
	document, err := os.ReadFile("../../deploy/openstack/access-rules.json")
	if err != nil {
		t.Fatal(err)
	}
	var rules []sim.AccessRule
	if err := json.Unmarshal(document, &rules); err != nil {
		t.Fatal(err)
	}
	return rules
}

// clouds collects the simulated clouds of a test.
type clouds struct {
	mu  sync.Mutex
	all []*sim.Cloud
}

func (c *clouds) add(cloud *sim.Cloud) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, cloud)
}

// TestAccessRules runs every scenario, and the settings that make other requests, with the access rules, which the
// simulator enforces. A missing rule fails one of them, and a rule that no request needs fails the test.
func TestAccessRules(t *testing.T) {
	rules := accessRules(t)
	var used clouds
	for _, driver := range drivers() {
		t.Run("scenarios of "+driver, func(t *testing.T) {
			conformance.Run(t, subjectWith(driver, rules, used.add))
		})
	}
	for _, s := range restrictedSettings() {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRestricted(t, s, rules, used.add)
				s.run(r)
				// The provider does without some objects if it may not read them.
				for _, call := range r.world.Front().Log().Calls() {
					if call.Status == http.StatusUnauthorized {
						t.Errorf("no rule allows %s of %s", call.Name, call.Service)
					}
				}
			})
		})
	}
	if t.Failed() {
		return
	}
	unused := slices.Clone(rules)
	for _, cloud := range used.all {
		idle := cloud.UnusedAccessRules()
		unused = slices.DeleteFunc(unused, func(r sim.AccessRule) bool { return !slices.Contains(idle, r) })
	}
	for _, rule := range unused {
		t.Errorf("no request needs the rule %s %s %s", rule.Service, rule.Method, rule.Path)
	}
}

// restrictedSetting is a use of the provider that makes requests which no scenario makes.
type restrictedSetting struct {
	name    string
	options sim.Options
	// lines are added to cloud.conf.
	lines     string
	transport func(http.RoundTripper) http.RoundTripper
	run       func(*restricted)
}

func restrictedSettings() []restrictedSetting {
	return []restrictedSetting{
		{name: "certificates", run: func(r *restricted) {
			for _, inContainer := range []bool{false, true} {
				reference := r.world.AddSecret("http://openstack.invalid", fmt.Sprint("web-", inContainer), inContainer)
				r.service.Annotations[annotation.KeyTLSContainer] = reference
				r.ensure()
			}
		}},
		{name: "changes of a Service", lines: "[LoadBalancer]\ncreate-monitor = true\n", run: func(r *restricted) {
			r.ensure()
			r.service.Spec.SessionAffinity = v1.ServiceAffinityClientIP
			r.service.Annotations[annotation.KeyMonitor] = "false"
			r.service.Annotations[annotation.KeyKeepFloatingIP] = "true"
			r.ensure()
			r.service.Annotations[annotation.KeyKeepFloatingIP] = "false"
			r.ensure()
		}},
		{name: "two families", options: sim.Options{IPv6: true}, run: func(r *restricted) {
			r.service.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
			r.service.Spec.IPFamilyPolicy = ptr.To(v1.IPFamilyPolicyRequireDualStack)
			r.ensure()
		}},
		{name: "members one by one", lines: "[LoadBalancer]\nprovider-requires-serial-api-calls = true\n", run: func(r *restricted) {
			r.ensure()
			r.nodes = r.nodes[:1]
			r.ensure()
		}},
		{name: "port of a rejected creation", options: sim.Options{Quotas: map[string]int{sim.QuotaListeners: 0}},
			run: func(r *restricted) {
				if _, err := r.balancer().EnsureLoadBalancer(r.t.Context(), "sim", r.service, r.nodes); err == nil {
					r.t.Error("the creation succeeded beyond the quota")
				}
				time.Sleep(time.Hour)
				synctest.Wait()
			}},
		{name: "failover", options: sim.Options{AllowFailover: true}, run: func(r *restricted) {
			r.ensure()
			if err := r.world.SetLoadBalancerStatus(r.world.LoadBalancers()[0].Name, "ERROR"); err != nil {
				r.t.Fatal(err)
			}
			time.Sleep(time.Hour)
			r.ensure()
		}},
		{name: "another flavor and zone", run: func(r *restricted) {
			r.ensure()
			r.service.Annotations[annotation.KeyFlavorID] = r.world.Places().LoadBalancerFlavors["large"]
			r.service.Annotations[annotation.KeyAvailabilityZone] = "az-2"
			r.ensure()
		}},
		{name: "routes without the extension", options: sim.Options{WithoutExtensions: []string{"extraroute-atomic"}},
			run: func(r *restricted) {
				r.initialize()
				routes, _ := r.cloud.Routes()
				route := &cloudprovider.Route{TargetNode: "node-0", DestinationCIDR: r.nodes[0].Spec.PodCIDR}
				if err := routes.CreateRoute(r.t.Context(), "sim", "", route); err != nil {
					r.t.Error(err)
				}
			}},
		{name: "flavors of an older Nova", transport: func(next http.RoundTripper) http.RoundTripper {
			return withoutMicroversions{next}
		}, run: func(r *restricted) {
			machine, err := r.world.Machine("node-0")
			if err == nil {
				err = r.world.DeleteFlavor(machine.Type)
			}
			if err != nil {
				r.t.Fatal(err)
			}
			instances, _ := r.cloud.InstancesV2()
			if _, err := instances.InstanceMetadata(r.t.Context(), r.nodes[0]); err != nil {
				r.t.Error(err)
			}
		}},
	}
}

// withoutMicroversions is a Nova that ignores microversions.
type withoutMicroversions struct{ next http.RoundTripper }

func (w withoutMicroversions) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("OpenStack-API-Version")
	r.Header.Del("X-OpenStack-Nova-API-Version")
	return w.next.RoundTrip(r)
}

// restricted is a manager with access rules, two nodes and a Service.
type restricted struct {
	t       *testing.T
	world   *simtest.Cloud
	cloud   cloudprovider.Interface
	nodes   []*v1.Node
	service *v1.Service
}

func newRestricted(t *testing.T, s restrictedSetting, rules []sim.AccessRule, created func(*sim.Cloud)) *restricted {
	t.Helper()
	options := s.options
	options.AccessRules = rules
	w := simtest.New(t, options)
	created(w.Cloud)
	places := w.Places()
	cfg, problems, err := config.Read("", []byte(w.Config(fmt.Sprintf(
		"[LoadBalancer]\nsubnet-id = %s\nfloating-network-id = %s\n[Route]\nrouter-id = %s\n%s",
		places.PrivateSubnet, places.PublicNetwork, places.Router, s.lines))))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	transport := w.Front().Transport()
	if s.transport != nil {
		transport = s.transport(transport)
	}
	cloud, err := openstack.NewCloud(cfg, openstack.WithTransport(transport))
	if err != nil {
		t.Fatal(err)
	}
	nodes := w.Launch(2)
	w.Initialize(nodes)
	r := &restricted{
		t: t, world: w, nodes: nodes,
		cloud: guard.Wrap(cloud, guard.Options{Disruption: provider.AllowDisruption}),
		service: &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1", Annotations: map[string]string{}},
			Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
				Ports: []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}}},
		},
	}
	cloud.SetRuntime(provider.Runtime{
		Recorder: record.NewFakeRecorder(1000), ClusterUID: "2f2c1d67", Disruption: provider.AllowDisruption,
		Annotate: func(_ context.Context, _ *v1.Service, annotations map[string]string) error {
			maps.Copy(r.service.Annotations, annotations)
			return nil
		},
	})
	return r
}

// initialize sets the addresses of the nodes, and gives them to the provider as its informer's objects.
func (r *restricted) initialize() {
	r.t.Helper()
	instances, _ := r.cloud.InstancesV2()
	var objects []runtime.Object
	for _, node := range r.nodes {
		metadata, err := instances.InstanceMetadata(r.t.Context(), node)
		if err != nil {
			r.t.Fatal(err)
		}
		node.Status.Addresses = metadata.NodeAddresses
		objects = append(objects, node)
	}
	factory := informers.NewSharedInformerFactory(fakeclient.NewClientset(objects...), 0)
	r.cloud.(cloudprovider.InformerUser).SetInformers(factory)
	factory.Start(r.t.Context().Done())
	factory.WaitForCacheSync(r.t.Context().Done())
}

func (r *restricted) balancer() cloudprovider.LoadBalancer {
	balancer, _ := r.cloud.LoadBalancer()
	return balancer
}

// ensure syncs the Service.
func (r *restricted) ensure() {
	r.t.Helper()
	if _, err := r.balancer().EnsureLoadBalancer(r.t.Context(), "sim", r.service, r.nodes); err != nil {
		r.t.Error(err)
	}
}
