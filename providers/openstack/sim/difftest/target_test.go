package difftest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// target is a cloud that steps are done on.
type target struct {
	client *http.Client
	token  string
	// urls are the public endpoints, by service type, with their version.
	urls map[string]string
	// vars are IDs and addresses, by the names that steps use.
	vars map[string]string
	// poll is how often a change is looked after.
	poll time.Duration
}

// reply is an answer of a cloud.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (c *target) send(ctx context.Context, method, url, body string, header map[string]string) (reply, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("X-Auth-Token", c.token)
	r.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, content}, err
}

// login gets a token and the catalogue.
func (c *target) login(t *testing.T, url, user, password, project string) {
	t.Helper()
	body := fmt.Sprintf(`{"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": %q, "password": %q, "domain": {"name": "Default"}}}},
		"scope": {"project": {"name": %q, "domain": {"name": "Default"}}}}}`, user, password, project)
	r, err := c.send(t.Context(), http.MethodPost, url+"/auth/tokens", body, nil)
	if err != nil || r.status != http.StatusCreated {
		t.Fatalf("no token: %v, %d %s", err, r.status, r.body)
	}
	c.token = r.header.Get("X-Subject-Token")
	var in struct {
		Token struct {
			Project struct{ ID string }
			Catalog []struct {
				Type      string
				Endpoints []struct{ Interface, URL string }
			}
		}
	}
	if err := json.Unmarshal(r.body, &in); err != nil {
		t.Fatal(err)
	}
	c.vars["PROJECT"] = in.Token.Project.ID
	c.urls = map[string]string{}
	versions := map[string]string{"identity": "v3", "compute": "v2.1", "network": "v2.0", "load-balancer": "v2.0",
		"key-manager": "v1"}
	for _, s := range in.Token.Catalog {
		for _, e := range s.Endpoints {
			if e.Interface == "public" {
				c.urls[s.Type] = strings.TrimSuffix(e.URL, "/")
				if v := "/" + versions[s.Type]; !strings.HasSuffix(c.urls[s.Type], v) {
					c.urls[s.Type] += v
				}
			}
		}
	}
}

// expand puts variables, written as ${NAME}, into a text.
func (c *target) expand(text string) string {
	return os.Expand(text, func(name string) string { return c.vars[name] })
}

// simulated returns the simulator with one machine.
func simulated(t *testing.T) *target {
	t.Helper()
	cloud, err := sim.New(sim.Options{Zones: []string{"az-1"}, Providers: []string{"amphora"},
		SettleTime: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cloud.Launch(world.Machine{Name: "diff-node", Type: "m1.tiny"}); err != nil {
		t.Fatal(err)
	}
	p, a := cloud.Places(), cloud.Account()
	c := &target{poll: 10 * time.Millisecond, client: &http.Client{Transport: cloud.Front().Transport()},
		vars: map[string]string{
			"PRIVATE_NETWORK": p.PrivateNetwork, "PRIVATE_SUBNET": p.PrivateSubnet, "PUBLIC_NETWORK": p.PublicNetwork,
			"ROUTER": p.Router,
			"SERVER": cloud.Server("diff-node"),
		}}
	c.login(t, "http://openstack.invalid/identity/v3", a.Username, a.Password, a.ProjectName)
	return c
}

var exported = regexp.MustCompile(`export (\w+)='([^']*)'`)

// realTarget returns the tenant of a lab with its openrc in a directory, with one machine, which it makes if it is
// missing.
func realTarget(t *testing.T, dir string) *target {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "openrc"))
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, m := range exported.FindAllStringSubmatch(string(content), -1) {
		env[m[1]] = m[2]
	}
	c := &target{poll: 300 * time.Millisecond, client: &http.Client{Timeout: 2 * time.Minute}, vars: map[string]string{
		"PRIVATE_NETWORK": env["LAB_PRIVATE_NETWORK"], "PRIVATE_SUBNET": env["LAB_PRIVATE_SUBNET"],
		"PUBLIC_NETWORK": env["LAB_PUBLIC_NETWORK"], "ROUTER": env["LAB_ROUTER"],
	}}
	c.login(t, env["OS_AUTH_URL"], env["OS_USERNAME"], env["OS_PASSWORD"], env["OS_PROJECT_NAME"])
	c.vars["SERVER"] = c.machine(t)
	return c
}

// machine returns the server of the lab's that steps are about.
func (c *target) machine(t *testing.T) string {
	t.Helper()
	first := func(service, path, list string) string {
		r, err := c.send(t.Context(), http.MethodGet, c.urls[service]+path, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		return find(r.body, list+".0.id")
	}
	if id := first("compute", "/servers?name=^diff-node$", "servers"); id != "" {
		return id
	}
	body := fmt.Sprintf(`{"server": {"name": "diff-node", "flavorRef": %q, "imageRef": %q, "networks": [{"uuid": %q}]}}`,
		first("compute", "/flavors", "flavors"), first("image", "/v2/images?name=tiny", "images"), c.vars["PRIVATE_NETWORK"])
	r, err := c.send(t.Context(), http.MethodPost, c.urls["compute"]+"/servers", body, nil)
	if err != nil || r.status != http.StatusAccepted {
		t.Fatalf("no server: %v, %d %s", err, r.status, r.body)
	}
	id := find(r.body, "server.id")
	c.await(t, c.urls["compute"]+"/servers/"+id, "server.status")
	return id
}

// await polls until a status is ACTIVE, or the object is deleted.
func (c *target) await(t *testing.T, url, field string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for {
		r, err := c.send(ctx, http.MethodGet, url, "", nil)
		if err != nil {
			t.Fatalf("%s never came to rest: %v", url, err)
		}
		if s := find(r.body, field); r.status == http.StatusNotFound || s == "ACTIVE" || s == "ERROR" {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(c.poll):
		}
	}
}

// find returns what is at a path of keys and indexes, as text.
func find(document []byte, path string) string {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var at any
	if d.Decode(&at) != nil {
		return ""
	}
	for key := range strings.SplitSeq(path, ".") {
		switch x := at.(type) {
		case map[string]any:
			at = x[key]
		case []any:
			var i int
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(x) {
				return ""
			}
			at = x[i]
		}
	}
	if at == nil {
		return ""
	}
	return fmt.Sprint(at)
}
