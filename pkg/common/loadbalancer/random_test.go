package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// randomHistory is a Service that is edited while calls fail, managers end, and policies and configurations change.
type randomHistory struct {
	*cluster
	t      *testing.T
	random *rand.Rand
	ranges string
	scheme string
	steps  []string
	// started is set once a change was interrupted: it is finished with whatever is wanted then.
	started bool
}

func (h *randomHistory) service() *v1.Service {
	edits := []func(*v1.Service){annotated(intent.KeyScheme, h.scheme)}
	if h.ranges != "" {
		edits = append(edits, ranges(h.ranges))
	}
	return h.cluster.service(edits...)
}

func (h *randomHistory) choose(list ...string) string { return list[h.random.IntN(len(list))] }

// step changes one thing, and syncs sometimes.
func (h *randomHistory) step() {
	did := h.choose("ranges", "scheme", "policy", "configuration", "sync", "sync", "failure", "lost reply", "restart", "conflict")
	switch did {
	case "ranges":
		h.ranges = h.choose("10.0.0.0/8", "192.0.2.0/24", "198.51.100.0/24")
		did += " " + h.ranges
	case "scheme":
		h.scheme = h.choose("public", "internal")
		did += " " + h.scheme
	case "policy":
		p := provider.DisruptionPolicy(h.choose(string(provider.HoldDisruption), string(provider.HoldAllDisruption)))
		h.policy(p)
		did += " " + string(p)
	case "configuration":
		h.cloud.discovered, h.cloud.discoveredAt = h.choose("", "by configuration"), "lb-web/443-TCP"
		did += " " + h.cloud.discovered
	case "restart":
		h.restart()
	case "conflict":
		h.fail = errors.New("conflict")
		h.sync()
		h.fail = nil
	case "failure", "lost reply":
		at := len(h.cloud.mutations) + 1 + h.random.IntN(3)
		did += fmt.Sprint(" ", at)
		lost := strings.HasPrefix(did, "lost")
		h.cloud.fault = func(n int, done bool) error {
			if n >= at && done == lost {
				return errors.New("interrupted")
			}
			return nil
		}
		h.sync()
		h.cloud.fault, h.started = nil, true
	default:
		h.sync()
	}
	h.steps = append(h.steps, did)
}

func (h *randomHistory) sync() {
	ctx := klog.NewContext(context.Background(), klog.Logger{}) // without logs
	_, _ = h.EnsureLoadBalancer(ctx, "prod", h.service(), []*v1.Node{node("a")})
}

// Whatever happens, an edit is applied in the end, and what no edit has caused is not.
func TestRandomHistoriesOfEdits(t *testing.T) {
	for seed := range uint64(40) {
		for name, create := range map[string]func(*testing.T) *cluster{"hiding": newHiding, "preserving": newPreserving, "plain": newCluster} {
			h := &randomHistory{cluster: create(t), t: t, random: rand.New(rand.NewPCG(seed, 2)), scheme: "public"} //nolint:gosec // reproducible
			h.options.Parallel = 1
			h.sync()
			for range 25 {
				h.step()
				if got := h.cloud.have[ref("listener", "lb-web/443-TCP")]; got == "by configuration" && !h.started && name != "hiding" {
					t.Fatalf("%s %d: a change of the configuration is applied: %q", name, seed, h.steps)
				}
			}
			h.policy(provider.HoldDisruption)
			h.cloud.discovered = ""
			clear(h.cloud.records) // which would prove drift
			h.sync()
			h.sync()
			if got := h.listener(); got != h.ranges {
				t.Fatalf("%s %d: listener %q, want %q: %q", name, seed, got, h.ranges, h.steps)
			}
			if got := h.cloud.have[balancerRef]; name == "hiding" && got != h.scheme {
				t.Fatalf("%s %d: scheme %q, want %q: %q", name, seed, got, h.scheme, h.steps)
			}
		}
	}
}
