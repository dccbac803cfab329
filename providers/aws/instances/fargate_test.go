package instances

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

func TestKeyOfFargate(t *testing.T) {
	for id, want := range map[string]fargateKey{
		"fargate-ip-10-0-1-2.us-west-2.compute.internal": {filterPrivateIP, "10.0.1.2"},
		"fargate-ip-10-0-1-2":                            {filterPrivateIP, "10.0.1.2"},
		"fargate-10.0.1.2":                               {filterPrivateIP, "10.0.1.2"},
		"fargate-2001:db8::1":                            {filterIPv6, "2001:db8::1"},
		"fargate-ip-10-0-1":                              {filterPrivateName, "ip-10-0-1"},
		"fargate-ip-10-0-1-256.x":                        {filterPrivateName, "ip-10-0-1-256.x"},
		"fargate-i-0123.us-west-2.compute.internal":      {filterPrivateName, "i-0123.us-west-2.compute.internal"},
		"fargate-*":                                      {filterPrivateName, "*"},
	} {
		if got := fargateKeyOf(id); got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
}

// fargate launches a Fargate node and returns its ID and address.
func (w *testCloud) fargate(zone string) (id, address string) {
	w.T.Helper()
	ip, err := w.Cloud.Cloud.LaunchFargate(zone)
	if err != nil {
		w.T.Fatal(err)
	}
	return names.FargatePrefix + "ip-" + dashes(ip.String()) + ".us-west-2.compute.internal", ip.String()
}

func TestFargateNode(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	id, address := w.fargate("us-west-2c")
	i := w.instances()
	node := simtest.InitializedNode(id, "aws:///us-west-2c/0a1b2c/"+id)
	got, err := i.InstanceMetadata(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	want := &cloudprovider.InstanceMetadata{
		ProviderID: "aws:///us-west-2c/" + id, Zone: "us-west-2c", Region: "us-west-2",
		NodeAddresses: []v1.NodeAddress{
			{Type: v1.NodeInternalIP, Address: address},
			{Type: v1.NodeInternalDNS, Address: "ip-" + dashes(address) + ".us-west-2.compute.internal"},
		},
		AdditionalLabels: map[string]string{names.ZoneIDLabel: "usw2-az3"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if exists, err := i.InstanceExists(t.Context(), node); !exists || err != nil {
		t.Errorf("exists %v, %v", exists, err)
	}
	if shut, err := i.InstanceShutdown(t.Context(), node); shut || err != nil {
		t.Errorf("shut down %v, %v", shut, err)
	}
	absent := simtest.InitializedNode("x", "aws:///us-west-2c/fargate-ip-10-0-255-1.us-west-2.compute.internal")
	if exists, err := i.InstanceExists(t.Context(), absent); exists || err != nil {
		t.Errorf("an absent one exists: %v, %v", exists, err)
	}
}

func TestFargateNodesAreReadInBulk(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	var asked []string
	for range 250 {
		id, _ := w.fargate("us-west-2a")
		asked = append(asked, id)
	}
	w.ResetCalls()
	list, err := w.source.Get(t.Context(), asked)
	if err != nil || len(list) != 250 {
		t.Fatalf("%d nodes, %v", len(list), err)
	}
	// Two for 250 addresses and one for the zones.
	w.WantCalls(3)
	if list, err = w.source.List(t.Context()); err != nil || len(list) != 250 {
		t.Errorf("%d nodes in a list, %v", len(list), err)
	}
	slices.Sort(asked)
	if diff := cmp.Diff(asked, ids(list)); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	w.WantCalls(3)
}

func TestFargateRequiresVPC(t *testing.T) {
	w := newTestCloud(t, sim.Options{})
	id, _ := w.fargate("us-west-2a")
	w.conn.Scope.VPC = ""
	if _, err := w.source.Get(t.Context(), []string{id}); !cloudapi.Is(err, cloudapi.Invalid) {
		t.Errorf("error %v, want class %s", err, cloudapi.Invalid)
	}
}
