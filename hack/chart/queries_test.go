package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// scrapeLabels are added when a target is scraped, le when a histogram is. cluster is a label of Prometheus or of the
// ServiceMonitor's relabelings.
var scrapeLabels = []string{"cluster", "job", "instance", "namespace", "pod", "le"}

// TestQueriesUseExistingLabels parses the queries of all panels and alerts, and finds labels that a metric of the
// manager does not have: such a query matches nothing, or loses a dimension, without an error.
func TestQueriesUseExistingLabels(t *testing.T) {
	labels := metricLabels(t)
	queries := dashboardQueries(t)
	for _, rule := range readRules(t) {
		queries["alert "+rule.Alert] = rule.Expr
	}
	checked := 0
	for where, query := range queries {
		expression, err := parser.NewParser(parser.Options{}).ParseExpr(query)
		if err != nil {
			t.Errorf("%s: %s: %v", where, query, err)
			continue
		}
		parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
			switch node := node.(type) {
			case *parser.VectorSelector:
				known, ours := labels[metricOf(node.Name)]
				if !ours {
					return nil
				}
				for _, matcher := range node.LabelMatchers {
					if matcher.Name != "__name__" && !slices.Contains(known, matcher.Name) {
						t.Errorf("%s: %s has no label %s", where, node.Name, matcher.Name)
					}
				}
			case *parser.AggregateExpr:
				known := labelsIn(node.Expr, labels)
				for _, label := range node.Grouping {
					if known != nil && !slices.Contains(known, label) {
						t.Errorf("%s: no metric of %s has the label %s", where, node.Expr, label)
					}
				}
				checked++
			}
			return nil
		})
	}
	if checked == 0 {
		t.Error("no query aggregates a metric")
	}
}

// dashboardQueries returns the queries of the panels, with values in place of the dashboard's variables.
func dashboardQueries(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/chart/files/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	queries := map[string]string{}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$provider", ".*", "$cluster", ".*")
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries["panel "+panel.Title+" "+target.RefID] = variables.Replace(target.Expr)
		}
	}
	return queries
}

// metricLabels returns the labels of each metric of the reference.
func metricLabels(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	name := regexp.MustCompile("`([a-z_]+)`")
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		metric, rest, _ := strings.Cut(section, "\n")
		labels[metric] = slices.Clone(scrapeLabels)
		_, list, _ := strings.Cut(rest, "- Labels: ")
		list, _, _ = strings.Cut(list, "\n")
		for _, match := range name.FindAllStringSubmatch(list, -1) {
			labels[metric] = append(labels[metric], match[1])
		}
	}
	return labels
}

// metricOf returns the name of a metric without the suffix that a histogram's series have.
func metricOf(series string) string {
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		series = strings.TrimSuffix(series, suffix)
	}
	return series
}

// labelsIn returns the labels of the manager's metrics in an expression, nil if it has others, too.
func labelsIn(expression parser.Expr, labels map[string][]string) (found []string) {
	others := false
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			known, ours := labels[metricOf(selector.Name)]
			others = others || !ours
			found = append(found, known...)
		}
		return nil
	})
	if others {
		return nil
	}
	return found
}
