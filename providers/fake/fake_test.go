package fake

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/fake/config"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim"
)

// notPortable are the portable annotations that the provider does not support, with the reasons. TestRegistered fails
// for any other that is missing, such as a new one.
var notPortable = map[string]string{
	intent.KeyTLSCertificate:            "the fake cloud has no certificates",
	intent.KeyTLSPorts:                  "listeners of the fake cloud do not terminate TLS",
	intent.KeyForwardedHeaders:          "listeners of the fake cloud forward TCP and UDP and do not read HTTP",
	intent.KeyConnectionDrainingTimeout: "pools of the fake cloud drop members at once",
}

func TestRegistered(t *testing.T) {
	t.Parallel()
	d, ok := provider.Get(ProviderName)
	if !ok {
		t.Fatal("the provider is not registered")
	}
	want := slices.DeleteFunc(intent.Keys(), func(key string) bool { return notPortable[key] != "" })
	if diff := cmp.Diff(want, d.Portable); diff != "" {
		t.Errorf("portable annotations (-want +got):\n%s", diff)
	}
	file := filepath.Join(t.TempDir(), "cloud.conf")
	if err := os.WriteFile(file, []byte("[Global]\ndata-plane = on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := cloudprovider.InitCloudProvider(ProviderName, file)
	if err == nil || !strings.Contains(err.Error(), file+":2: [Global] data-plane") {
		t.Errorf("InitCloudProvider = %v, want an error with file and line", err)
	}
	cloud, err := cloudprovider.InitCloudProvider(ProviderName, "")
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	defer close(stop)
	cloud.Initialize(nil, stop)
	if !cloud.HasClusterID() || cloud.ProviderName() != ProviderName {
		t.Errorf("HasClusterID = %t, ProviderName = %q", cloud.HasClusterID(), cloud.ProviderName())
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		config string
		class  cloudapi.Class
		says   string
	}{
		"accepted":        {"token = s3cret\n", "", ""},
		"no token":        {"", cloudapi.Denied, "set token in section [Global]"},
		"wrong token":     {"token = wrong\n", cloudapi.Denied, "set token in section [Global]"},
		"another region":  {"token = s3cret\nregion = other\n", cloudapi.Invalid, `region in section [Global] is "other", and the cloud has only ["fake-1"]`},
		"no one is there": {"endpoint = http://127.0.0.1:1\n", cloudapi.Unavailable, "endpoint http://127.0.0.1:1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, sim.Options{Token: "s3cret"})
			c := f.manager(test.config)
			if strings.HasPrefix(test.config, "endpoint") {
				cfg, _, err := config.Read("", []byte("[Global]\n"+test.config))
				if err != nil {
					t.Fatal(err)
				}
				if c, err = NewCloud(cfg); err != nil {
					t.Fatal(err)
				}
			}
			err := c.Check(t.Context())
			if got := cloudapi.ClassOf(err); got != test.class {
				t.Fatalf("Check = %v, class %q, want %q", err, got, test.class)
			}
			if err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error lacks %q: %v", test.says, err)
			}
		})
	}
}

func TestStaticAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sim.Options{})
	c := f.manager("")
	svc := service(1)
	first := f.ensure(c, svc, nil).Ingress[0].IP

	svc.Annotations[intent.KeyStaticAddresses] = "198.51.100.77"
	if got := f.ensure(c, svc, nil).Ingress[0].IP; got != "198.51.100.77" {
		t.Errorf("address = %s, want the chosen one", got)
	}
	delete(svc.Annotations, intent.KeyStaticAddresses)
	if got := f.ensure(c, svc, nil).Ingress[0].IP; got != "198.51.100.77" {
		t.Errorf("address = %s: an address that is no longer requested must be kept, since clients know it", got)
	}
	if n := f.world.Objects()["addresses"]; n != 1 {
		t.Errorf("%d addresses, want 1: %s is to be released", n, first)
	}
	svc.Annotations[intent.KeyStaticAddresses] = "203.0.113.1"
	f.world.Front().Log().Reset()
	_, err := c.loadBalancer.EnsureLoadBalancer(t.Context(), clusterName, svc, nil)
	if !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), "203.0.113.1") {
		t.Errorf("an address of no pool: %v, want a refusal that names it", err)
	}
	if n := f.world.Objects()["addresses"]; n != 1 {
		t.Errorf("%d addresses after the refusal, want 1", n)
	}
}

func TestMemberZones(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sim.Options{})
	c := f.manager("")
	nodes := f.launch(c, 1, 3) // one in each zone
	svc := service(1)
	svc.Annotations[annotation.KeyMemberZones] = nodes[1].Labels[v1.LabelTopologyZone]
	f.ensure(c, svc, nodes)
	if diff := cmp.Diff([]string{nodes[1].Name}, f.world.LoadBalancers()[0].Listeners[0].Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

// Two clusters of one name, which only their UIDs distinguish.
func TestAnotherClustersLoadBalancerIsNeverAdopted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sim.Options{})
	f.ensure(f.manager(""), service(1), nil)
	other := f.manager("")
	other.SetRuntime(provider.Runtime{Recorder: nil, ClusterUID: "c-2"})
	before := f.world.Objects()
	_, err := other.loadBalancer.EnsureLoadBalancer(t.Context(), clusterName, service(1), nil)
	if !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), "UID c-1") {
		t.Errorf("EnsureLoadBalancer = %v, want a refusal that names the owner", err)
	}
	if err := other.loadBalancer.EnsureLoadBalancerDeleted(t.Context(), clusterName, service(1)); err != nil {
		t.Errorf("EnsureLoadBalancerDeleted = %v: the Service must be able to go", err)
	}
	if diff := cmp.Diff(before, f.world.Objects()); diff != "" {
		t.Errorf("another cluster's objects were changed (-before +after):\n%s", diff)
	}
}

func TestInterruptedProvisioningIsContinued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, sim.Options{ProvisionTime: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := f.manager("").loadBalancer.EnsureLoadBalancer(ctx, clusterName, service(1), nil); err == nil {
			t.Fatal("EnsureLoadBalancer returned before the load balancer was active")
		}
		f.ensure(f.manager(""), service(1), nil)
		if objects := f.world.Objects(); objects["load-balancers"] != 1 || objects["listeners"] != 1 ||
			objects["addresses"] != 1 {
			t.Errorf("objects = %v, want one of each", objects)
		}
	})
}

func TestExhaustedAddressPoolIsReported(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sim.Options{Pools: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/30")}})
	c := f.manager("")
	f.ensure(c, service(1), nil)
	f.ensure(c, service(2), nil)
	_, err := c.loadBalancer.EnsureLoadBalancer(t.Context(), clusterName, service(3), nil)
	if !cloudapi.Is(err, cloudapi.Quota) {
		t.Fatalf("EnsureLoadBalancer = %v, want class %s", err, cloudapi.Quota)
	}
	for _, want := range []string{"address pool exhausted: no IPv4 address of 198.51.100.0/30 is free",
		"address-pool in section [Global]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the Event lacks %q: %v", want, err)
		}
	}
	if err := c.loadBalancer.EnsureLoadBalancerDeleted(t.Context(), clusterName, service(1)); err != nil {
		t.Fatal(err)
	}
	f.ensure(c, service(3), nil)
}

// A lost reply to a creation is found again by name, within the same call.
func TestLostRepliesOfCreationsAreAdopted(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"AllocateAddress", "CreateLoadBalancer", "CreatePool", "CreateListener"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, sim.Options{ProvisionTime: 5 * time.Second})
				c := f.manager("")
				f.world.Front().SetFaults(kit.Fault{Kind: kit.FaultLostReply, Operation: operation})
				f.ensure(c, service(1), f.launch(c, 1, 1))
				if n := f.world.Front().Injected(); n != 1 {
					t.Fatalf("%d faults were injected, want 1", n)
				}
				objects := f.world.Objects()
				for _, kind := range []string{"addresses", "load-balancers", "pools", "listeners"} {
					if objects[kind] != 1 {
						t.Errorf("%d %s, want 1", objects[kind], kind)
					}
				}
			})
		})
	}
}
