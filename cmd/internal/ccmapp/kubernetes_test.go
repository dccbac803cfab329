package ccmapp

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

func TestSupportedVersionsOfKubernetes(t *testing.T) {
	for server, supported := range map[string]bool{
		"v1.37.1": true, "v1.36.0": true, "v1.35.9-eks-abc123": true, "v1.38.0-beta.1": true, "v1.37.2+k3s1": true,
		"v1.34.12": true, "v1.33.8": false, "v1.39.0": false, "v2.37.0": false, "": true, "main": true,
	} {
		err := unsupported(server)
		if (err == nil) != supported {
			t.Errorf("%q: %v", server, err)
		}
		if err != nil && !strings.Contains(err.Error(), "is Kubernetes "+server+", and this release supports 1.34 to 1.37") {
			t.Errorf("%q: %v", server, err)
		}
	}
	if got := versionOf([]byte(`{"major": "1", "gitVersion": "v1.36.2"}`)); got != "v1.36.2" {
		t.Errorf("version %q", got)
	}
	if got := versionOf([]byte("<html>")); got != "" {
		t.Errorf("version %q of a response that is not JSON", got)
	}
}

func TestReadinessNamesUnsupportedKubernetes(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(0, 0))
	h := NewHealth(clock, &checkedCloud{})
	h.SetKubernetes(unsupported("v1.20.0"))
	if got := ask(t, h, "/readyz?verbose"); got.Status != http.StatusOK || !strings.Contains(got.Body, "[+]cloud ok\n") ||
		!strings.Contains(got.Body, "[-]kubernetes failing for 0s: the API server is Kubernetes v1.20.0") {
		t.Errorf("status %d\n%s", got.Status, got.Body)
	}
	if got := ask(t, h, "/readyz/kubernetes"); got.Status != http.StatusServiceUnavailable {
		t.Errorf("its own path: status %d\n%s", got.Status, got.Body)
	}
	// A cloud that fails is not ready, whatever the version.
	h = NewHealth(clock, &checkedCloud{err: errors.New("down")})
	if err := h.Clouds()[0].Check(t.Context()); err == nil {
		t.Fatal("no error")
	}
	h.SetKubernetes(nil)
	if got := ask(t, h, "/readyz?verbose"); got.Status != http.StatusServiceUnavailable || strings.Contains(got.Body, "kubernetes") {
		t.Errorf("status %d\n%s", got.Status, got.Body)
	}
}
