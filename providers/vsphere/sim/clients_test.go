package sim_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
)

// serve serves a cloud and returns the URL of its API, with the account.
func serve(t *testing.T) (*sim.Cloud, *url.URL) {
	t.Helper()
	cloud, err := sim.New(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud.Front())
	t.Cleanup(func() {
		server.Close()
		cloud.Close()
	})
	u, err := soap.ParseURL(server.URL + "/sdk")
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(sim.User, sim.Password)
	return cloud, u
}

// vSphere Web Services SDK Programming Guide, "API Versions": a client reads the versions that a server supports from
// https://<server>/sdk/vimServiceVersions.xml before it connects. The service is also at /sdk/vimService.
func TestClientsFindTheVersionAndTheService(t *testing.T) {
	t.Parallel()
	cloud, u := serve(t)
	client, err := govmomi.NewClient(t.Context(), u, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.UseServiceVersion(); err != nil || client.Version != client.ServiceContent.About.ApiVersion {
		t.Errorf("version %q, want %q: %v", client.Version, client.ServiceContent.About.ApiVersion, err)
	}
	if cloud.Front().Log().Count()["GET vimServiceVersions.xml"] != 1 {
		t.Errorf("calls: %v", cloud.Front().Log().Count())
	}
	// ServiceContent: "tenantManager" is "since vSphere API Release 6.9.1".
	if content := client.ServiceContent; content.About.ApiVersion < "6.9.1" && content.TenantManager != nil {
		t.Errorf("API version %s has %v", content.About.ApiVersion, content.TenantManager)
	}
	u.Path = "/sdk/vimService"
	if _, err := govmomi.NewClient(t.Context(), u, true); err != nil {
		t.Error(err)
	}
	response, err := http.Get(strings.Replace(u.String(), "/sdk/vimService", "/none", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("another path: %s", response.Status)
	}
}

// VirtualMachineSummary: "runtime" is the "runtime and state information of a running virtual machine", that of the
// machine's property runtime, and "guest" has the information of VMware Tools. Clients such as
// object.VirtualMachine.HostSystem read either.
func TestSummaryRepeatsRuntimeAndGuest(t *testing.T) {
	t.Parallel()
	cloud, u := serve(t)
	if _, err := cloud.Launch(world.Machine{Name: "node-1"}); err != nil {
		t.Fatal(err)
	}
	client, err := govmomi.NewClient(t.Context(), u, true)
	if err != nil {
		t.Fatal(err)
	}
	vm := object.NewVirtualMachine(client.Client, cloud.RefOf("node-1"))
	host, err := vm.HostSystem(t.Context())
	if err != nil || host.Reference() != cloud.HostOf("node-1") {
		t.Errorf("host %v, want %v: %v", host, cloud.HostOf("node-1"), err)
	}
	summary := func() types.VirtualMachineSummary {
		var properties mo.VirtualMachine
		if err := vm.Properties(t.Context(), vm.Reference(), []string{"summary"}, &properties); err != nil {
			t.Fatal(err)
		}
		return properties.Summary
	}
	s := summary()
	if s.Vm == nil || *s.Vm != vm.Reference() || s.Guest.HostName != "node-1" || s.Guest.IpAddress != "10.0.0.1" ||
		s.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("running: %+v", s)
	}
	// They are enumerations, and not optional: "faultToleranceState", "recordReplayState", "overallStatus",
	// "guestHeartbeatStatus".
	if s.Runtime.FaultToleranceState == "" || s.Runtime.RecordReplayState == "" || s.OverallStatus == "" ||
		s.QuickStats.GuestHeartbeatStatus == "" {
		t.Errorf("required fields are empty: %+v", s)
	}
	if err := cloud.Update("node-1", func(vm *simulator.VirtualMachine) { vm.Guest.HostName = "other" }); err != nil {
		t.Fatal(err)
	}
	if s := summary(); s.Guest.HostName != "other" {
		t.Errorf("renamed: %+v", s.Guest)
	}
	if err := cloud.Stop("node-1"); err != nil {
		t.Fatal(err)
	}
	if s := summary(); s.Guest.HostName != "" || s.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
		t.Errorf("stopped: %+v %+v", s.Runtime, s.Guest)
	}
}
