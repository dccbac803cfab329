package openstack

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/simtest"
)

// newTestCloud returns the provider on a simulated cloud, with routes and more lines of configuration.
func newTestCloud(t *testing.T, o sim.Options, lines string) (*Cloud, *simtest.Cloud) {
	t.Helper()
	world := simtest.New(t, o)
	cfg := readConfig(t, world.Config(fmt.Sprintf("[Route]\nrouter-id = %s\n%s", world.Places().Router, lines)))
	// Retries would wait for the fake clock.
	noRetry := func(o *options) { o.retry = cloudapi.Retry{Attempts: 1} }
	cloud, err := NewCloud(cfg, WithTransport(world.Front().Transport()), WithClock(o.Clock), noRetry)
	if err != nil {
		t.Fatal(err)
	}
	return cloud, world
}

// wantHealth compares the parts with a part of each one's error, "" for none.
func wantHealth(t *testing.T, cloud *Cloud, when string, want map[string]string) {
	t.Helper()
	got := cloud.Health()
	if len(got) != len(want) {
		t.Errorf("%s: %d parts, want %d", when, len(got), len(want))
	}
	for _, p := range got {
		part, ok := want[p.Part]
		if !ok || (p.Err != nil) != (part != "") || p.Err != nil && !strings.Contains(p.Err.Error(), part) {
			t.Errorf("%s: %s: %v, want %q", when, p.Part, p.Err, part)
		}
	}
}

func TestMissingOctaviaDisablesOnlyLoadBalancers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		cloud, world := newTestCloud(t, sim.Options{Clock: c, Without: []string{api.LoadBalancing}, TokenLife: 24 * time.Hour}, "")
		if err := cloud.Check(t.Context()); err != nil {
			t.Errorf("Check: %v", err)
		}
		const missing = "the catalog has no public endpoint of the service load-balancer in region RegionOne: check region and os-endpoint-type in section [Global]"
		wantHealth(t, cloud, "with nothing but the token", map[string]string{provider.PartNodes: "", provider.PartLoadBalancers: missing, provider.PartRoutes: ""})
		// The catalog is read again, but not with each check.
		for range 30 {
			c.Step(30 * time.Second)
			if err := cloud.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the renewal ends
		}
		if got := world.Front().Log().Count()["CreateToken"]; got != 2 {
			t.Errorf("%d tokens in a quarter of an hour, want 2", got)
		}
		off, _ := newTestCloud(t, sim.Options{Clock: c, Without: []string{api.LoadBalancing}}, "[LoadBalancer]\nenabled = false\n")
		if err := off.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantHealth(t, off, "with enabled = false", map[string]string{provider.PartNodes: "", provider.PartRoutes: ""})
	})
}

func TestKeystoneOutageAtStartDisablesNothing(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	cloud, world := newTestCloud(t, sim.Options{Clock: c}, "")
	world.Front().SetFaults(kit.Fault{Operation: "CreateToken", Kind: kit.FaultError, Times: 3})
	for range 3 { // at start, and every 10 seconds
		if err := cloud.Check(t.Context()); !cloudapi.Is(err, cloudapi.Unavailable) {
			t.Fatalf("error %v, want Unavailable: with Denied the process would end", err)
		}
		// Had one of them been off at this moment, its controller would not have started until a restart.
		_, nodes := cloud.InstancesV2()
		_, balancers := cloud.LoadBalancer()
		_, routes := cloud.Routes()
		if !nodes || !balancers || !routes {
			t.Errorf("nodes %v, load balancers %v, routes %v, want all on", nodes, balancers, routes)
		}
		wantHealth(t, cloud, "without a token", map[string]string{provider.PartNodes: "CreateToken", provider.PartLoadBalancers: "CreateToken", provider.PartRoutes: "CreateToken"})
		c.Step(10 * time.Second)
	}
	if since := cloud.Health()[0].Since; c.Since(since) != 30*time.Second {
		t.Errorf("failing since %v, want for 30s", since)
	}
	if _, err := api.New(cloud.client).ListServers(t.Context(), ""); err != nil {
		t.Errorf("once Keystone is back: %v", err)
	}
	wantHealth(t, cloud, "once Keystone is back", map[string]string{provider.PartNodes: "", provider.PartLoadBalancers: "", provider.PartRoutes: ""})
}

func TestOctaviaOutageIsReportedAndProbed(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	cloud, world := newTestCloud(t, sim.Options{Clock: c}, "")
	calls := api.New(cloud.client)
	list := func() error { _, err := calls.ListLoadBalancers(t.Context()); return err }
	if err := errors.Join(cloud.Check(t.Context()), list()); err != nil {
		t.Fatal(err)
	}
	world.Front().SetFaults(
		kit.Fault{Operation: "ListLoadBalancers", Kind: kit.FaultError, Times: -1}, kit.Fault{Operation: "ListVersions", Kind: kit.FaultError, Times: -1})
	for range 3 {
		if list() == nil {
			t.Fatal("the fault was not injected")
		}
	}
	wantHealth(t, cloud, "after three failures", map[string]string{
		provider.PartNodes: "", provider.PartLoadBalancers: "the last 3 requests to the service load-balancer failed, most recently ListLoadBalancers: unavailable", provider.PartRoutes: ""})
	if err := cloud.Check(t.Context()); !cloudapi.Is(err, cloudapi.Unavailable) {
		t.Errorf("Check, which probes Octavia again: %v, want Unavailable", err)
	}
	world.Front().SetFaults()
	if err := cloud.Check(t.Context()); err != nil {
		t.Error(err)
	}
	wantHealth(t, cloud, "once Octavia is back", map[string]string{provider.PartNodes: "", provider.PartLoadBalancers: "", provider.PartRoutes: ""})
	world.Front().Log().Reset()
	if err := cloud.Check(t.Context()); err != nil || world.Front().Log().Len() != 0 {
		t.Errorf("%v, %d calls, want none of a healthy cloud", err, world.Front().Log().Len())
	}
}
