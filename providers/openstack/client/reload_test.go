package client

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/simtest"
)

// A clouds.yaml that changes is read again, as the configuration is.
func TestCloudsYAMLIsReloaded(t *testing.T) {
	t.Parallel()
	c := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w, err := sim.New(sim.Options{Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	a, file := w.Account(), filepath.Join(t.TempDir(), "clouds.yaml")
	write := func(password string) {
		content := fmt.Sprintf("clouds:\n  sim:\n    auth: {auth_url: %q, username: %q, password: %q, project_name: %q, "+
			"user_domain_id: %q, project_domain_id: %q}\n    region_name: %s\n",
			simtest.URL, a.Username, password, a.ProjectName, a.DomainID, a.DomainID, a.Region)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(a.Password)
	conf := filepath.Join(t.TempDir(), "cloud.conf")
	content := "[Global]\nuse-clouds = true\nclouds-file = " + file + "\n"
	if err := os.WriteFile(conf, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	calls := api.New(New(Options{Global: readGlobal(t, content), ConfigFile: conf, Transport: w.Front().Transport(), Clock: c}))
	if _, err := calls.ListServers(t.Context(), ""); err != nil {
		t.Fatalf("with credentials out of clouds.yaml: %v", err)
	}
	w.SetPassword("rotated-password")
	w.EndTokens()
	if _, err := calls.ListServers(t.Context(), ""); !cloudapi.Is(err, cloudapi.Denied) {
		t.Errorf("with the old password: %v, want Denied", err)
	}
	write("rotated-password")
	c.Step(reloadInterval)
	if _, err := calls.ListServers(t.Context(), ""); err != nil {
		t.Errorf("with the new password in clouds.yaml: %v", err)
	}
}

// No call hangs: neither to a service nor for a token, the first or a later one.
func TestEveryCallTimesOut(t *testing.T) {
	t.Parallel()
	w, err := sim.New(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var hangs atomic.Value // of func(path string) bool
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if hangs.Load().(func(string) bool)(r.URL.Path) {
			// A server notices that a client disconnects only after it has read the request.
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		w.Front().ServeHTTP(rw, r)
	}))
	defer server.Close()
	const tokens = "/identity/v3/auth/tokens"
	for _, tt := range []struct {
		name  string
		hangs func(string) bool
		again bool
	}{
		{"the first token", func(p string) bool { return p == tokens }, false},
		{"a service", func(p string) bool { return p != tokens }, false},
		{"a later token", func(p string) bool { return p == tokens }, true},
	} {
		a := w.Account()
		g := readGlobal(t, fmt.Sprintf("[Global]\nauth-url = %s/identity/v3\nuser-id = %s\npassword = %s\ntenant-id = "+
			"%s\nrequest-timeout = 1\n", server.URL, a.UserID, a.Password, a.ProjectID))
		c := New(Options{Global: g, Retry: cloudapi.Retry{Attempts: 1}})
		hangs.Store(func(string) bool { return false })
		if tt.again {
			if _, err := api.New(c).ListServers(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			w.EndTokens()
		}
		c.timeout = 50 * time.Millisecond // all further calls hang
		hangs.Store(tt.hangs)
		if _, err := api.New(c).ListServers(t.Context(), ""); !cloudapi.Is(err, cloudapi.Unavailable) {
			t.Errorf("%s: error %v, want Unavailable", tt.name, err)
		}
	}
}
