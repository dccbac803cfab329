//go:build !exclude_openstack

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/cmd/internal/ccmapp"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// TestReadinessOnOpenStack: what is wrong with a cloud stands in /readyz?verbose with its reason, and
// the process is ready as long as there is anything that it can do.
func TestReadinessOnOpenStack(t *testing.T) {
	outage := kit.Fault{Operation: "CreateToken", Kind: kit.FaultError, Times: -1}
	for _, tc := range []struct {
		name   string
		cloud  sim.Options
		faults []kit.Fault
		status int
		lines  []string
	}{
		{"all well", sim.Options{}, nil, http.StatusOK, []string{"[+]nodes ok", "[+]load-balancers ok", "readyz check passed"}},
		{"no Octavia", sim.Options{Without: []string{"load-balancer"}}, nil, http.StatusOK, []string{
			"[+]nodes ok",
			"[-]load-balancers failing for 0s: the catalog has no public endpoint of the service load-balancer in region RegionOne: check region and os-endpoint-type in section [Global], or whether the cloud has this service",
			"readyz check passed"}},
		{"Keystone fails", sim.Options{}, []kit.Fault{outage}, http.StatusServiceUnavailable, []string{
			"[-]nodes failing for 0s: CreateToken: ", "[-]load-balancers failing for 0s: CreateToken: ", "readyz check failed"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			world, err := sim.New(tc.cloud)
			if err != nil {
				t.Fatal(err)
			}
			a := world.Account()
			cfg, _, err := config.Read("", fmt.Appendf(nil, "[Global]\nauth-url = http://openstack.invalid/identity\napplication-credential-id = %s\napplication-credential-secret = %s\nregion = %s\n",
				a.ApplicationCredentialID, a.ApplicationCredentialSecret, a.Region))
			if err != nil {
				t.Fatal(err)
			}
			cloud, err := openstack.NewCloud(cfg, openstack.WithTransport(world.Front().Transport()))
			if err != nil {
				t.Fatal(err)
			}
			world.Front().SetFaults(tc.faults...)
			health := ccmapp.NewHealth(clock.RealClock{}, guard.Wrap(cloud, guard.Options{}))
			_ = health.Clouds()[0].Check(t.Context())
			w := httptest.NewRecorder()
			health.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz?verbose", nil))
			got := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
			if w.Code != tc.status || len(got) != len(tc.lines) {
				t.Fatalf("status %d, want %d:\n%s", w.Code, tc.status, w.Body)
			}
			for i, line := range tc.lines {
				if !strings.HasPrefix(got[i], line) {
					t.Errorf("line %d is\n%s\nwant\n%s", i+1, got[i], line)
				}
			}
		})
	}
}
