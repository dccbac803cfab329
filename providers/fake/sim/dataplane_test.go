package sim

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// testTimeout bounds how long a test waits for sockets before it fails.
const testTimeout = 10 * time.Second

// eventually polls, because sockets have no clock that a test could step.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within %v: %s", testTimeout, what)
}

// podStandIn serves HTTP on a node port of the loopback.
func podStandIn(t *testing.T) int32 {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	t.Cleanup(server.Close)
	return int32(netip.MustParseAddrPort(server.Listener.Addr().String()).Port())
}

func reachable(url string) bool {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: testTimeout}
	answer, err := client.Get(url)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// freePort returns a port that was free on all of the loopback a moment ago.
func freePort(t *testing.T) int32 {
	t.Helper()
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return int32(netip.MustParseAddrPort(l.Addr().String()).Port())
}

// expose makes load balancer "web" forward a port to a pod's stand-in, and returns its URL.
func (c *client) expose() (lb api.LoadBalancer, url string) {
	c.t.Helper()
	t := c.t.(*testing.T)
	node := must[api.Page[api.Instance]](c, "POST", "/v1/instances",
		`[{"name":"node-a","internalAddresses":["127.0.0.1"]}]`).Items[0]
	lb, port := c.publicLB("web"), freePort(t)
	must[api.Pool](c, "POST", "/v1/load-balancers/"+lb.ID+"/pools",
		tcpPool("p", api.Member{InstanceID: node.ID, Port: podStandIn(t)}))
	must[api.Listener](c, "POST", "/v1/load-balancers/"+lb.ID+"/listeners",
		api.Listener{Name: "l", Protocol: protocolTCP, Port: port, Pool: "p"})
	return lb, fmt.Sprintf("http://%s:%d/", lb.Addresses[0], port)
}

func TestDataPlaneFollowsTheWorld(t *testing.T) {
	c := newClient(t, Options{DataPlane: DataPlaneProxy})
	lb, url := c.expose()
	if !strings.HasPrefix(url, "http://127.66.0.1:") {
		t.Errorf("the load balancer has the address %s", url)
	}
	eventually(t, "the pod is reached through the load balancer", func() bool { return reachable(url) })
	must[api.Listener](c, "PATCH", "/v1/load-balancers/"+lb.ID+"/listeners/l", `{"sourceRanges":["192.0.2.0/24"]}`)
	eventually(t, "source ranges keep us out", func() bool { return !reachable(url) })
	must[api.Listener](c, "PATCH", "/v1/load-balancers/"+lb.ID+"/listeners/l", `{"sourceRanges":[]}`)
	eventually(t, "all may come in again", func() bool { return reachable(url) })
	if err := c.cloud.Stop("node-a"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a stopped machine gets no traffic", func() bool { return !reachable(url) })
	c.remove("/v1/load-balancers/" + lb.ID)
	eventually(t, "the port is closed", func() bool {
		conn, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(url, "http://"), "/"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}

func TestReplicasTakeTurnsInForwarding(t *testing.T) {
	o := Options{DataPlane: DataPlaneProxy, StateFile: stateFileIn(t)}
	first, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	_, url := clientOf(t, first).expose()
	eventually(t, "the first forwards", func() bool { return reachable(url) })
	second := newClient(t, o)
	eventually(t, "the second says that it cannot", func() bool {
		return strings.Contains(second.loadBalancer("web").Warning, "another process has the port")
	})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second takes over", func() bool { return reachable(url) })
	if warning := second.loadBalancer("web").Warning; warning != "" {
		t.Errorf("still warns: %s", warning)
	}
}
