package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

const lease = "cloud-controller-manager"

// alertCase is one alert with series that fire it and series that do not. Series are those of promqltest, a sample a
// minute.
type alertCase struct {
	fires, silent string
	// standby are more series that do not fire it; empty for none.
	standby string
	// after is how long the series of fires last before the alert is checked.
	after time.Duration
	// summary is the expanded summary of the alert.
	summary string
}

const requests = `
	ccm_cloudprovider_request_duration_seconds_count{provider="aws",interface="LoadBalancer"} 0+60x200
	ccm_cloud_api_request_duration_seconds_count{provider="aws",service="ec2"} 0+60x200`

var alertCases = map[string]alertCase{
	"UnifiedCCMDown": {
		fires:   `up{job="x"} 0x200`,
		silent:  `ccm_nodes{provider="aws",ownership="mine"} 3x200`,
		standby: `leader_election_master_status{name="cloud-controller-manager"} 0x200`,
		after:   10 * time.Minute,
		summary: "No cloud controller manager is scraped.",
	},
	"UnifiedCCMNoLeader": {
		fires: `leader_election_master_status{name="cloud-controller-manager",instance="a"} 0x200
			leader_election_master_status{name="cloud-controller-manager",instance="b"} 0x200
			leader_election_master_status{name="kube-controller-manager",instance="b"} 1x200`,
		silent: `leader_election_master_status{name="cloud-controller-manager",instance="a"} 0x200
			leader_election_master_status{name="cloud-controller-manager",instance="b"} 1x200`,
		after:   10 * time.Minute,
		summary: "No pod holds the lease cloud-controller-manager.",
	},
	"UnifiedCCMAccessDenied": {
		fires:   `ccm_cloudprovider_errors_total{provider="aws",interface="LoadBalancer",class="denied"} 0+1x200`,
		silent:  `ccm_cloudprovider_errors_total{provider="aws",interface="LoadBalancer",class="throttled"} 0+1x200`,
		after:   30 * time.Minute,
		summary: "The cloud aws denies calls of LoadBalancer.",
	},
	"UnifiedCCMErrors": {
		fires:   requests + "\n" + `ccm_cloudprovider_errors_total{provider="aws",interface="LoadBalancer",class="unavailable"} 0+30x200`,
		silent:  requests + "\n" + `ccm_cloudprovider_errors_total{provider="aws",interface="LoadBalancer",class="invalid"} 0+30x200`,
		after:   time.Hour,
		summary: "50% of the calls of LoadBalancer on aws fail.",
	},
	"UnifiedCCMThrottled": {
		fires:   requests + "\n" + `ccm_cloud_api_throttled_total{provider="aws",service="ec2",operation="o",source="cloud"} 0+30x200`,
		silent:  requests + "\n" + `ccm_cloud_api_throttled_total{provider="aws",service="ec2",operation="o",source="client"} 0+30x200`,
		after:   time.Hour,
		summary: "ec2 of aws throttles 50% of the requests.",
	},
	"UnifiedCCMLoadBalancerChangesHeld": {
		fires:   `ccm_load_balancer_changes_held{provider="aws"} 2x200`,
		silent:  `ccm_load_balancer_changes_held{provider="aws"} 0x200`,
		after:   time.Hour,
		summary: "2 changes of load balancers wait for an approval.",
	},
	"UnifiedCCMLoadBalancerDrift": {
		fires:   `ccm_load_balancer_audits_total{provider="aws",result="repaired"} 0+1x200`,
		silent:  `ccm_load_balancer_audits_total{provider="aws",result="clean"} 0+1x200`,
		after:   time.Hour,
		summary: "Load balancers of aws were changed outside of the cluster and repaired.",
	},
	"UnifiedCCMAuditFailing": {
		fires:   `ccm_load_balancer_audits_total{provider="aws",result="failed"} 0+1x200`,
		silent:  `ccm_load_balancer_audits_total{provider="aws",result="repaired"} 0+1x200`,
		after:   time.Hour,
		summary: "Load balancers of aws cannot be compared with the cloud.",
	},
	"UnifiedCCMOrphans": {
		fires: `ccm_inventory_objects{provider="aws",kind="target group",state="orphaned",instance="a"} 2x200
			ccm_inventory_objects{provider="aws",kind="target group",state="orphaned",instance="b"} 2x200
			ccm_inventory_objects{provider="aws",kind="load balancer",state="orphaned",instance="a"} 0x200`,
		// A load balancer that is being deleted is in one inventory. Objects of kinds that are not listed are not counted as
		// orphans.
		silent: `ccm_inventory_objects{provider="aws",kind="target group",state="foreign"} 2x200
			ccm_inventory_objects{provider="aws",kind="load balancer",state="orphaned"} 1x30 0x170
			ccm_inventory_list_failures{provider="aws",kind="address",class="denied"} 1x200`,
		after:   3 * time.Hour,
		summary: "2 objects of the kind target group on aws are orphaned.",
	},
	"UnifiedCCMNodeDeletionsLimited": {
		// Each node is counted once, when it exceeds the limit.
		fires:   `ccm_node_deletions_suppressed_total{provider="aws",reason="wrong-cloud"} 0x20 3x180`,
		silent:  `ccm_node_deletions_suppressed_total{provider="aws",reason="confirming"} 0+1x200`,
		after:   30 * time.Minute,
		summary: "More nodes have vanished from aws than may be deleted at once.",
	},
	"UnifiedCCMNodesUnknown": {
		fires:   `ccm_nodes{provider="aws",ownership="unknown"} 2x200`,
		silent:  `ccm_nodes{provider="aws",ownership="foreign"} 2x200`,
		after:   30 * time.Minute,
		summary: "2 nodes have no instance on aws.",
	},
	"UnifiedCCMWorkStuck": {
		fires: `ccm_nodes{job="ccm",instance="a",ownership="mine"} 1x200
			workqueue_longest_running_processor_seconds{job="ccm",instance="a",name="service"} 2400x200`,
		silent: `ccm_nodes{job="ccm",instance="a",ownership="mine"} 1x200
			workqueue_longest_running_processor_seconds{job="ccm",instance="a",name="service"} 20x200
			workqueue_longest_running_processor_seconds{job="other",instance="b",name="service"} 2400x200`,
		after:   30 * time.Minute,
		summary: "One item of the queue service has been worked on for 40m 0s.",
	},
}

func TestAlertsFire(t *testing.T) {
	for _, rule := range readRules(t) {
		t.Run(rule.Alert, func(t *testing.T) {
			c, ok := alertCases[rule.Alert]
			if !ok {
				t.Fatal("the alert has no test case")
			}
			fired := evaluate(t, rule, c.fires, c.after)
			if len(fired) != 1 {
				t.Fatalf("%d alerts fire, want 1: %v", len(fired), fired)
			}
			if got := fired[0].Annotations.Get("summary"); got != c.summary {
				t.Errorf("summary %q, want %q", got, c.summary)
			}
			for _, series := range []string{c.silent, c.standby} {
				if series == "" {
					continue
				}
				if fired := evaluate(t, rule, series, c.after); len(fired) != 0 {
					t.Errorf("fires without a cause: %v", fired)
				}
			}
		})
	}
}

func TestAlertsHaveRunbooks(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, alerts []string
	for _, match := range regexp.MustCompile(`(?m)^### (UnifiedCCM\w+)$`).FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, match[1])
	}
	for _, rule := range readRules(t) {
		alerts = append(alerts, rule.Alert)
		if want := "RUNBOOKS#" + strings.ToLower(rule.Alert); rule.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url %q, want %q", rule.Alert, rule.Annotations["runbook_url"], want)
		}
	}
	if !slices.Equal(documented, alerts) {
		t.Errorf("runbooks:\n%v\nalerts:\n%v", documented, alerts)
	}
}

// TestAlertsUseExistingMetrics finds metrics and labels that the manager does not have.
func TestAlertsUseExistingMetrics(t *testing.T) {
	reference, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\bccm_[a-z_]+`)
	texts := map[string]string{}
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		text, err := os.ReadFile(filepath.Join("../../deploy/chart/files", file))
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	for file, text := range texts {
		found := names.FindAllString(text, -1)
		if len(found) == 0 {
			t.Errorf("%s uses no metric of the manager", file)
		}
		for _, name := range found {
			for _, suffix := range []string{"_count", "_sum", "_bucket"} {
				name = strings.TrimSuffix(name, suffix)
			}
			if !strings.Contains(string(reference), "## "+name+"\n") {
				t.Errorf("%s: the manager has no metric %s", file, name)
			}
		}
	}
}

func readRules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	text, err := os.ReadFile("../../deploy/chart/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.ReplaceAll(string(text), "LEASE", lease))
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}),
		slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return groups.Groups[0].Rules
}

// evaluate returns the alerts that a rule fires over series, when evaluated each minute.
func evaluate(t *testing.T, rule rulefmt.Rule, series string, after time.Duration) (fired []*rules.Alert) {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n"+indent(series))
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
	if err != nil {
		t.Fatal(err)
	}
	alerting := rules.NewAlertingRule(rule.Alert, expression, time.Duration(rule.For), 0,
		labels.FromMap(rule.Labels), labels.FromMap(rule.Annotations), labels.EmptyLabels(), "", true,
		slog.New(slog.DiscardHandler))
	query := rules.EngineQueryFunc(engine, storage)
	for at := time.Unix(0, 0).UTC(); !at.After(time.Unix(0, 0).Add(after)); at = at.Add(time.Minute) {
		if _, err := alerting.Eval(context.Background(), 0, at, query, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	alerting.ForEachActiveAlert(func(a *rules.Alert) {
		if a.State == rules.StateFiring {
			fired = append(fired, a)
		}
	})
	return fired
}

func indent(series string) string {
	var out strings.Builder
	for line := range strings.Lines(series) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintf(&out, "  %s\n", line)
		}
	}
	return out.String()
}
