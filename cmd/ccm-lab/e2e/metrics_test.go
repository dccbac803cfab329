package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{
		// The manager makes a certificate of its own at each start.
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the loopback of a test
		DisableKeepAlives: true,
	}}
	_, port, _ := net.SplitHostPort(addr)
	flags = []string{"--bind-address=127.0.0.1", "--secure-port=" + port, "--authorization-always-allow-paths=/metrics"}
	return flags, func(ctx context.Context) (string, error) { return get(ctx, client, "https://"+addr+"/metrics") }
}

func get(ctx context.Context, client *http.Client, url string) (text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %s", url, response.Status, body)
	}
	return string(body), err
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
