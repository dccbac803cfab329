package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
)

const foreignID = "aws:///eu-central-1a/i-0123456789abcdef0"

// TestNodeSafety: no answer but "it does not exist", given twice, deletes a node, and no node of
// another cloud is ever changed.
func TestNodeSafety(t *testing.T) {
	t.Parallel()
	var refuse gate
	serve, scrape := metricsPort(t)
	c := newCluster(t, setup{noRoutes: true, flags: append(serve, "--node-deletion-confirmation=2s"), front: refuse.serve(t)})
	ctx, s := t.Context(), c.session
	c.must(s.JoinN(ctx, 2), s.AddForeignNode(ctx, "foreign", foreignID))
	c.start()
	c.converge()

	// The machine vanishes and the foreign node falls silent. While the cloud refuses to say
	// anything, the nodes cannot be distinguished.
	c.must(s.Terminate(ctx, "node-1", false), s.Silence(ctx, "foreign"))
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError} {
		refuse.with(status)
		if status == http.StatusUnauthorized {
			c.must(s.Silence(ctx, "node-1"))
		}
		seen := refuse.count.Load()
		c.eventually(fmt.Sprintf("calls that fail with status %d", status), func(context.Context) error {
			if calls := refuse.count.Load() - seen; calls < 4 {
				return fmt.Errorf("%d so far", calls)
			}
			return nil
		})
		c.must(c.exist(ctx, "node-1", "node-2", "foreign"))
	}
	c.eventually("a metric that says why the node is still there", func(ctx context.Context) error {
		text, err := scrape(ctx)
		if got := sum(text, "ccm_cloudprovider_errors_total", `method="InstanceExists"`, `class="denied"`); err == nil && got < 1 {
			err = errors.New(`ccm_cloudprovider_errors_total{method="InstanceExists",class="denied"} is 0`)
		}
		return err
	})

	refuse.with(0)
	// Session.Verify demands that node-1 goes, and that the other two stay as they are.
	c.converge()
	said, err := c.live.Events(ctx, "Node", "", "node-1")
	if !slices.ContainsFunc(said, func(event string) bool {
		return strings.HasPrefix(event, "NodeDeletionSuppressed: ") && strings.Contains(event, "--node-deletion-confirmation")
	}) {
		t.Errorf("no Event says that the first answer was not believed: %q (%v)", said, err)
	}
	node, err := c.live.Node(ctx, "foreign")
	if err != nil || node == nil {
		t.Fatalf("the foreign node is missing: %v", err)
	}
	if node.Spec.ProviderID != foreignID || len(node.Labels[v1.LabelTopologyZone]) > 0 {
		t.Errorf("the foreign node was changed: provider ID %s, labels %v", node.Spec.ProviderID, node.Labels)
	}
}

func (c *cluster) exist(ctx context.Context, names ...string) error {
	var errs []error
	for _, name := range names {
		if node, err := c.live.Node(ctx, name); err != nil || node == nil {
			errs = append(errs, fmt.Errorf("node %s was deleted: %w", name, errors.Join(err)))
		}
	}
	return errors.Join(errs...)
}

// gate is a proxy of a cloud that can answer in its place.
type gate struct {
	status atomic.Int32
	count  atomic.Int64 // answers given
	// target is the endpoint that calls are let through to.
	target atomic.Pointer[url.URL]
}

// hangs is the status of a gate that does not answer.
const hangs = -1

// with makes the gate answer every call with a status; 0 lets calls through.
func (g *gate) with(status int) { g.status.Store(int32(status)) }

// lead makes the gate let calls through to an endpoint.
func (g *gate) lead(t *testing.T, endpoint string) {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	g.target.Store(target)
}

// serve returns a function that starts a gate before an endpoint.
func (g *gate) serve(t *testing.T) func(endpoint string) string {
	return func(endpoint string) string {
		g.lead(t, endpoint)
		cloud := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(g.target.Load()) }}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			status := int(g.status.Load())
			if status == 0 {
				cloud.ServeHTTP(w, r)
				return
			}
			g.count.Add(1)
			if status == hangs {
				_, _ = io.Copy(io.Discard, r.Body) // Without that, the server does not see that the client ends.
				<-r.Context().Done()
				return
			}
			http.Error(w, fmt.Sprintf(`{"code":"Refused","message":"the test answers %d"}`, status), status)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
}
