package compare

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// declares returns what a descriptor claims about a portable annotation.
func declares(key string) func(provider.Descriptor) report.Verdict {
	return func(d provider.Descriptor) report.Verdict {
		switch {
		case !d.Capabilities.LoadBalancer:
			return report.NotApplicable
		case slices.Contains(d.Portable, key):
			return report.Works
		default:
			return report.Refuses
		}
	}
}

// portable returns the scenario of a portable annotation.
func portable(key, title, detail string, c spec) Scenario {
	return Scenario{
		ID: "annotation." + key[len(intent.Prefix):], Group: groupAnnotations, Title: title, Detail: detail,
		Declared: declares(key), Run: c.run,
	}
}

func annotationScenarios() []Scenario {
	return []Scenario{
		portable(intent.KeyHealthCheckInterval, "Health check interval", "Nodes are probed every 15 seconds.",
			spec{service: fixed(annotated(intent.KeyHealthCheckInterval, "15s")), effect: has(healthCheckInterval, "15")}),
	}
}
