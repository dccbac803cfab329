package realservices

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// newServices serves the simulator as real services are laid out: each at an address of its own. It sets the hosts of
// services by path, because the catalogue of the simulator names one address for all.
func newServices(t *testing.T, c *sim.Cloud) (roots map[string]string) {
	t.Helper()
	roots = map[string]string{}
	for service := range versions() {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.Path = "/" + service + r.URL.Path
			c.Front().ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		roots[service] = server.URL
	}
	return roots
}

func TestSessionUsesEndpointsOfCatalog(t *testing.T) {
	c, err := sim.New(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	roots, a := newServices(t, c), c.Account()
	s, err := login(t.Context(), roots["identity"]+"/v3", a.Username, a.Password, a.ProjectName)
	if err != nil {
		t.Fatal(err)
	}
	s.roots = roots

	networks, err := list[ref](t.Context(), s, "network/networks?name=private")
	if err != nil || len(networks) != 1 {
		t.Fatalf("networks %v, %v", networks, err)
	}
	id, err := s.create(t.Context(), "network/security-groups", "security_group", object{"name": "a"})
	if err != nil || id == "" {
		t.Fatalf("security group %q, %v", id, err)
	}

	t.Run("an expired token is renewed", func(t *testing.T) {
		c.EndTokens()
		var out struct {
			Group ref `json:"security_group"`
		}
		if err := s.call(t.Context(), "GET network/security-groups/"+id, nil, &out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ref{ID: id, Name: "a"}, out.Group); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("remove accepts a missing object", func(t *testing.T) {
		for range 2 {
			if err := s.remove(t.Context(), "network/security-groups/"+id); err != nil {
				t.Error(err)
			}
		}
		if err := s.call(t.Context(), "GET network/security-groups/"+id, nil, nil); !hasStatus(err, http.StatusNotFound) {
			t.Errorf("%v is not a 404", err)
		}
	})
	t.Run("errors keep their status", func(t *testing.T) {
		c.Front().SetFaults(kit.Fault{Kind: kit.FaultError})
		if err := s.call(t.Context(), "GET network/networks", nil, nil); !hasStatus(err, http.StatusInternalServerError) {
			t.Errorf("%v is not a 500", err)
		}
	})
	if _, err := login(t.Context(), roots["identity"]+"/v3", a.Username, "wrong", a.ProjectName); !hasStatus(err,
		http.StatusUnauthorized) {
		t.Errorf("login with a wrong password: %v is not a 401", err)
	}
}
