package lab

import (
	"net/netip"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

// TestMachinesHaveInternalIPs checks what real kubelets need of a simulated cloud.
func TestMachinesHaveInternalIPs(t *testing.T) {
	for _, provider := range Providers() {
		t.Run(provider, func(t *testing.T) {
			addresses, ok := startCloud(t, provider, SimulatorOptions{}).(world.InternalIPs)
			if !ok {
				t.Fatal("no addresses")
			}
			seen := map[netip.Addr]bool{}
			for _, name := range []string{"node-1", "node-2"} {
				text, err := addresses.InternalIP(name)
				if err != nil {
					t.Fatal(err)
				}
				address, err := netip.ParseAddr(text)
				if err != nil || seen[address] {
					t.Errorf("%s has the address %q, error %v, after %v", name, text, err, seen)
				}
				seen[address] = true
			}
			if address, err := addresses.InternalIP("unknown"); err == nil {
				t.Errorf("an unknown machine has the address %q", address)
			}
		})
	}
}

// TestOnlyLoopbackIsProbed keeps a lab from sending requests to addresses of other machines.
func TestOnlyLoopbackIsProbed(t *testing.T) {
	for _, provider := range Providers() {
		addresses, ok := startCloud(t, provider, SimulatorOptions{Proxy: true}).(world.InternalIPs)
		if !ok {
			t.Fatal("no addresses")
		}
		text, err := addresses.InternalIP("node-1")
		if err != nil {
			t.Fatal(err)
		}
		if loopback := netip.MustParseAddr(text).IsLoopback(); Forwards(provider) != loopback {
			t.Errorf("%s forwards traffic: %t, and its machines have loopback addresses: %t", provider, Forwards(provider), loopback)
		}
	}
}

func TestProxyUsesGivenRanges(t *testing.T) {
	instances := netip.MustParsePrefix("10.240.7.0/24")
	cloud := startCloud(t, fake.ProviderName, SimulatorOptions{Proxy: true, Instances: []netip.Prefix{instances},
		Public: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}})
	addresses, ok := cloud.(world.InternalIPs)
	if !ok {
		t.Fatal("no addresses")
	}
	address, err := addresses.InternalIP("node-1")
	if err != nil || !instances.Contains(netip.MustParseAddr(address)) {
		t.Errorf("the machine's address is %q, error %v, not in %s", address, err, instances)
	}
}

// startCloud returns a cloud with two machines, which ends with the test.
func startCloud(t *testing.T, provider string, o SimulatorOptions) world.World {
	t.Helper()
	cloud, err := StartCloud(t.Context(), provider, "127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range 2 {
		if _, err := cloud.World.Launch(DemoMachine(i + 1)); err != nil {
			t.Fatal(err)
		}
	}
	return cloud.World
}
