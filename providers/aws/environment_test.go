package aws

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

func TestIdentityProblems(t *testing.T) {
	tests := []struct {
		name, conf string
		options    sim.Options
		fault      kit.Fault
		class      cloudapi.Class
		want       []string
	}{
		{name: "nothing set, no metadata service", fault: kit.Fault{Kind: kit.FaultError, Operation: "GetMetadata", Times: kit.Always},
			class: cloudapi.Unavailable, want: []string{"Region is not set in section [Global]", "hop limit of 2 or more", "set Region, VPC, KubernetesClusterID"}},
		{name: "region set, no metadata service", conf: "Region = us-west-2\n", fault: kit.Fault{Kind: kit.FaultError, Operation: "GetMetadata", Times: kit.Always},
			class: cloudapi.Unavailable, want: []string{"VPC and KubernetesClusterID are not set", "set VPC, KubernetesClusterID, or"}},
		{name: "cluster missing, EC2 denies", conf: "Region = us-west-2\nVPC = vpc-0123\n",
			options: sim.Options{Allow: func(action string) bool { return !strings.HasPrefix(action, "ec2:") }},
			class:   cloudapi.Denied, want: []string{"KubernetesClusterID is not set", "UnauthorizedOperation"}},
		{name: "credentials refused", conf: simtest.Located, options: sim.Options{AccessKeys: []string{"AKIAOTHER"}},
			class: cloudapi.Denied, want: []string{"AWS rejects the credentials", "InvalidClientTokenId"}},
		{name: "role refused", conf: simtest.Located + "RoleARN = arn:aws:iam::123456789012:role/ccm\n", options: sim.Options{AccessKeys: []string{"AKIAOTHER"}},
			class: cloudapi.Denied, want: []string{"AWS rejects the credentials (role arn:aws:iam::123456789012:role/ccm, RoleARN in section [Global])"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world, _ := simtest.WithSelf(t, tt.options)
				if tt.fault.Kind != "" {
					world.Front().SetFaults(tt.fault)
				}
				err := newManager(t, world.Front().Transport(), tt.conf).Check(t.Context())
				for _, want := range tt.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("error %v, want %q in it", err, want)
					}
				}
				if got := cloudapi.ClassOf(err); got != tt.class {
					t.Errorf("class %q, want %q", got, tt.class)
				}
			})
		})
	}
}

// TestCheckOutsideOfAWS is a manager outside of AWS whose configuration is incomplete.
func TestCheckOutsideOfAWS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := simtest.RoundTripFunc(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		m := newManager(t, silent, "")
		start := time.Now()
		err := m.Check(t.Context())
		if took := time.Since(start); took > 2*(10*time.Second) || !cloudapi.Is(err, cloudapi.Unavailable) {
			t.Errorf("after %v: %v", took, err)
		}
		again := time.Now()
		if err := m.Check(t.Context()); err == nil || time.Since(again) > 0 {
			t.Errorf("the next caller waits %v for %v", time.Since(again), err)
		}
	})
}

// TestIdentityWhileZoneIsDisrupted starts a manager while a zone is disrupted: EC2 reads instances of other zones by
// their IDs only, and the instance metadata service has the VPC of one in the zone itself.
func TestIdentityWhileZoneIsDisrupted(t *testing.T) {
	for _, tt := range []struct{ name, zone, conf, err string }{
		{name: "another zone", zone: "us-west-2b"},
		{name: "its own zone", zone: "us-west-2a", conf: "KubernetesClusterID = sim\n"},
		{name: "its own zone, unknown cluster", zone: "us-west-2a", err: "set VPC, KubernetesClusterID"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := simtest.New(t, sim.Options{})
				c.Launch(world.Machine{Name: "self", Zone: tt.zone})
				c.Cloud.SetDisruption(sim.Disruption{Zones: []string{"us-west-2a"}})
				m := newManager(t, c.Cloud.Front().Transport(), tt.conf)
				p, err := m.connection.Get(t.Context())
				if tt.err != "" {
					if !cloudapi.Is(err, cloudapi.Unavailable) || !strings.Contains(err.Error(), tt.err) {
						t.Errorf("error %v, want %q in it", err, tt.err)
					}
					return
				}
				if err != nil || p.environment.VPC != c.Cloud.VPC() || p.environment.ClusterID != "sim" || p.environment.Subnet == "" {
					t.Errorf("identity %+v, %v", p, err)
				}
			})
		})
	}
}
