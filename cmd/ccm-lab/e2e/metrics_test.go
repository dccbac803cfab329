package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

// TestMetrics: what the process serves at /metrics has the manager's own families, and nothing of
// a provider that was not chosen.
func TestMetrics(t *testing.T) {
	t.Parallel()
	serve, scrape := metricsPort(t)
	c := newCluster(t, setup{noRoutes: true, flags: serve})
	c.must(c.session.JoinN(t.Context(), 1), c.session.Put(t.Context(), service("web", 80)))
	c.start()
	c.converge()
	text, err := scrape(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sample := range []struct {
		family string
		labels []string
	}{
		{"ccm_cloudprovider_request_duration_seconds_count", []string{`provider="fake"`, `method="EnsureLoadBalancer"`, `result="success"`}},
		{"ccm_cloudprovider_request_duration_seconds_count", []string{`provider="fake"`, `method="InstanceMetadata"`, `result="success"`}},
		{"ccm_cloud_api_request_duration_seconds_count", []string{`provider="fake"`, `operation="CreateLoadBalancer"`}},
		{"ccm_nodes", []string{`provider="fake"`, `ownership="mine"`}},
	} {
		if got := sum(text, sample.family, sample.labels...); got < 1 {
			t.Errorf("%s%v is %v, want at least 1", sample.family, sample.labels, got)
		}
	}
	// An alert on the increase of a counter does not see the first events of a series that begins with them.
	for _, series := range []string{
		`ccm_node_deletions_suppressed_total{provider="fake",reason="limit"} 0`,
		`ccm_load_balancer_audits_total{provider="fake",result="failed"} 0`,
		`ccm_load_balancer_audits_total{provider="fake",result="repaired"} 0`,
	} {
		if !strings.Contains(text, "\n"+series+"\n") {
			t.Errorf("/metrics lacks %s before the first event", series)
		}
	}
	for _, match := range regexp.MustCompile(`(?m)^(\w+)\{[^}]*\bprovider="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if match[2] != fake.ProviderName {
			t.Errorf("%s has provider=%q, and %s was chosen", match[1], match[2], fake.ProviderName)
		}
	}
}

// TestFrameworkMetricsOfQueries checks that the process serves the metrics of the framework that alerts and panels
// query, and those that the reference lists. Metrics of the lease exist only while the manager elects a leader.
func TestFrameworkMetricsOfQueries(t *testing.T) {
	t.Parallel()
	serve, scrape := metricsPort(t)
	c := newCluster(t, setup{flags: append(serve, "--leader-elect=true")})
	c.must(c.session.JoinN(t.Context(), 1), c.session.Put(t.Context(), service("web", 80)))
	c.start()
	c.converge()
	text, err := scrape(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "\nkubernetes_build_info{") {
		t.Error("/metrics lacks kubernetes_build_info, which has the version")
	}
	lease := `leader_election_master_status{name="` + leaseName + `"} 1` + "\n"
	if !strings.Contains(text, lease) {
		t.Errorf("/metrics of the leader lacks %s", lease)
	}
	names := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (\w+) `).FindAllStringSubmatch(text, -1) {
		names[match[1]] = true
	}
	for _, query := range []string{"files/alerts.yaml", "files/dashboard.json"} {
		content := c.read("deploy/chart/" + query)
		for _, name := range regexp.MustCompile(`\b(workqueue|leader_election|rest_client)_\w+`).FindAllString(content, -1) {
			if !names[name] {
				t.Errorf("%s queries %s, which /metrics lacks", query, name)
			}
		}
	}
	families := regexp.MustCompile("`(\\w+_)\\*`").FindAllStringSubmatch(c.read("docs/reference/metrics.md"), -1)
	if len(families) == 0 {
		t.Error("docs/reference/metrics.md lists no families of the framework")
	}
	for _, family := range families {
		if !strings.Contains(text, "\n# TYPE "+family[1]) {
			t.Errorf("docs/reference/metrics.md lists %s*, which /metrics lacks", family[1])
		}
	}
}

// read returns a file of the repository.
func (c *cluster) read(path string) string {
	c.t.Helper()
	content, err := os.ReadFile(filepath.Join(lab.Repository(), path))
	c.must(err)
	return string(content)
}

// metricsPort returns the flags by which a manager serves /metrics to all clients of the loopback, and
// the function that reads it.
func metricsPort(t *testing.T) (flags []string, scrape func(context.Context) (string, error)) {
	t.Helper()
	port, err := lab.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	flags = []string{
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--authorization-always-allow-paths=/metrics",
	}
	return flags, func(ctx context.Context) (string, error) { return lab.GetFromManager(ctx, port, "/metrics") }
}

// sum adds up the samples of a metric that have all the labels, written name="value".
func sum(text, name string, labels ...string) (total float64) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		rest, ok := strings.CutPrefix(line, name)
		if !ok || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") {
			continue // Another metric, with this name as a prefix.
		}
		value := line[strings.LastIndexByte(line, ' ')+1:]
		matches := true
		for _, label := range labels {
			matches = matches && strings.Contains(rest, label)
		}
		if number, err := strconv.ParseFloat(value, 64); matches && err == nil {
			total += number
		}
	}
	return total
}
