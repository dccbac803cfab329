package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
)

// fleetLabels keep the managers of clusters, namespaces and releases apart. The job is the name of the release's Service.
var fleetLabels = []string{"cluster", "namespace", "job"}

// target returns series with the labels that a scrape of one manager adds.
func target(series, cluster, job string) string {
	labels := `cluster="` + cluster + `",namespace="kube-system",job="` + job + `"`
	var out strings.Builder
	for line := range strings.Lines(series) {
		if line = strings.TrimSpace(line); line != "" {
			name, rest, _ := strings.Cut(line, "{")
			// The series of a case may have a job of their own.
			rest = regexp.MustCompile(`job="[^"]*",?`).ReplaceAllString(rest, "")
			out.WriteString(name + "{" + labels + "," + rest + "\n")
		}
	}
	return out.String()
}

// TestAlertsOfFleets scrapes a manager with a problem and one without into one Prometheus, as two clusters and as two
// releases of one cluster. Each alert fires once, with the labels of the manager with the problem.
func TestAlertsOfFleets(t *testing.T) {
	for _, rule := range readRules(t) {
		c := alertCases[rule.Alert]
		fires := c.fires
		if rule.Alert == "UnifiedCCMDown" {
			// Its pods are gone after 20 minutes.
			fires, c.after = `leader_election_master_status{name="cloud-controller-manager"} 0x20 _x180`, 40*time.Minute
		}
		for name, other := range map[string][2]string{"clusters": {"b", "ccm"}, "releases": {"a", "ccm-b"}} {
			t.Run(rule.Alert+" of two "+name, func(t *testing.T) {
				fired := evaluate(t, rule, target(fires, "a", "ccm")+target(c.silent, other[0], other[1]), c.after)
				if len(fired) != 1 {
					t.Fatalf("%d alerts fire, want 1: %v", len(fired), fired)
				}
				checkFleetLabels(t, fired[0], "a", "ccm")
			})
			t.Run(rule.Alert+" of both "+name, func(t *testing.T) {
				fired := evaluate(t, rule, target(fires, "a", "ccm")+target(fires, other[0], other[1]), c.after)
				if rule.Alert == "UnifiedCCMDown" && len(fired) == 3 {
					t.Fatal("both are down, and a third alert fires")
				}
				if len(fired) != 2 {
					t.Fatalf("%d alerts fire, want 2: %v", len(fired), fired)
				}
			})
		}
	}
}

func checkFleetLabels(t *testing.T, alert *rules.Alert, cluster, job string) {
	t.Helper()
	for name, want := range map[string]string{"cluster": cluster, "namespace": "kube-system", "job": job} {
		if got := alert.Labels.Get(name); got != want {
			t.Errorf("label %s is %q, want %q", name, got, want)
		}
	}
}

// TestDownNamesTheCluster checks that the alert about a missing manager says which one is missing.
func TestDownNamesTheCluster(t *testing.T) {
	rule := readRules(t)[0]
	fired := evaluate(t, rule, target(`ccm_nodes{provider="aws",ownership="mine"} 3x20 _x180`, "prod-1", "ccm")+
		target(`ccm_nodes{provider="aws",ownership="mine"} 3x200`, "prod-2", "ccm"), 40*time.Minute)
	if len(fired) != 1 {
		t.Fatalf("%d alerts fire, want 1: %v", len(fired), fired)
	}
	const want = "No cloud controller manager of cluster prod-1 is scraped."
	if got := fired[0].Annotations.Get("summary"); got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
}

// TestQueriesKeepFleetsApart finds aggregations of alerts that merge clusters or releases, and panels that ignore the
// dashboard's variable for clusters.
func TestQueriesKeepFleetsApart(t *testing.T) {
	for _, rule := range readRules(t) {
		expression, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
			if aggregate, ok := node.(*parser.AggregateExpr); ok {
				for _, label := range fleetLabels {
					if !slices.Contains(aggregate.Grouping, label) {
						t.Errorf("%s merges all values of %s: %s", rule.Alert, label, aggregate)
					}
				}
			}
			return nil
		})
	}
	text, err := os.ReadFile("../../deploy/chart/files/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Templating struct{ List []struct{ Name string } }
		Panels     []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(dashboard.Templating.List, func(v struct{ Name string }) bool { return v.Name == "cluster" }) {
		t.Error("the dashboard has no variable for clusters")
	}
	metric := regexp.MustCompile(`\b(ccm_\w+|workqueue_\w+|leader_election_\w+)(\{cluster=~"\$cluster")?`)
	for _, panel := range dashboard.Panels {
		for _, query := range panel.Targets {
			for _, match := range metric.FindAllStringSubmatch(query.Expr, -1) {
				if match[2] == "" {
					t.Errorf("%s: %s is not of the selected clusters", panel.Title, match[1])
				}
			}
		}
	}
}
