package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// defaultScenarios have the values that a Service without annotations gets, for readers who compare clouds.
func defaultScenarios() []Scenario {
	return []Scenario{
		defaultScenario("address", "Address in the status",
			"What status.loadBalancer.ingress has for a Service with one port.", statusForms),
		defaultScenario("client-address", "Client address",
			"Whether packets reach a node with the client's address, without "+
				"PROXY protocol. With externalTrafficPolicy: Cluster, kube-proxy replaces it on the way to another node.",
			func(s *state) string { return cmp.Or(s.value(clientAddress), notShown) }),
		defaultScenario("health-check", "Health check", "How nodes are probed, and how often.", healthCheckText),
		defaultScenario("idle-timeout", "Idle timeout",
			"For how long a connection without traffic stays open, if the cloud's API shows it.", idleTimeoutText),
		defaultScenario("objects", "Objects in the cloud",
			"How many objects of each kind one Service with one port has.", objectCounts),
	}
}

// defaultScenario returns the scenario of a value that is read from what exists for a Service without annotations.
func defaultScenario(id, title, detail string, read func(*state) string) Scenario {
	return Scenario{
		ID: "default." + id, Group: groupDefaults, Title: title, Detail: detail, Declared: declaresBalancers, Values: true,
		Run: func(ctx context.Context, t *Trial) (report.Verdict, string, error) {
			s, err := t.apply(ctx, newService())
			if err != nil || s.balancer == nil {
				return s.decideUnlessError(err)
			}
			value := cmp.Or(read(s), "none")
			s.check(title, value, value)
			return report.Works, value, nil
		},
	}
}

// notShown is the value of what the cloud's API does not show.
const notShown = "not shown"

// value returns the values of a setting in the objects of the Service or, if they have none, in those that Services
// share.
func (s *state) value(name setting) string {
	for _, objects := range [][]world.Object{s.created, s.inventory()} {
		if values := valuesOf(s.Provider, name, objects); len(values) > 0 {
			return strings.Join(values, ", ")
		}
	}
	return ""
}

// statusForms returns whether the status has IP addresses or host names.
func statusForms(s *state) string {
	var forms []string
	for _, in := range s.service.Status.LoadBalancer.Ingress {
		form := "host name"
		if in.IP != "" {
			form = "IP address"
		}
		forms = append(forms, form)
	}
	return strings.Join(forms, ", ")
}

// healthCheckText describes the health check of nodes; empty without one.
func healthCheckText(s *state) string {
	protocol := s.value(healthCheckProtocol)
	if protocol == "" {
		return ""
	}
	text := protocol
	for _, part := range []struct {
		format string
		name   setting
	}{
		{"every %s s", healthCheckInterval}, {"timeout %s s", healthCheckTimeout}, {"healthy after %s", healthyThreshold},
		{"unhealthy after %s", unhealthyThreshold},
	} {
		if value := s.value(part.name); value != "" {
			text += ", " + fmt.Sprintf(part.format, value)
		}
	}
	return text
}

// idleTimeoutText returns the idle timeout; empty without one.
func idleTimeoutText(s *state) string {
	switch value := s.value(idleTimeout); value {
	case "":
		return notShown
	case "0":
		return ""
	default:
		return value + " s"
	}
}

// objectCounts counts the objects that were created or changed for the Service, by kind.
func objectCounts(s *state) string {
	counts := map[string]int{}
	for _, o := range s.created {
		counts[o.Kind]++
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		text := fmt.Sprintf("%d %s", counts[kind], kind)
		if counts[kind] > 1 {
			text += "s"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
