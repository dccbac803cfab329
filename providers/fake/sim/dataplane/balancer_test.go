package dataplane

import (
	"net/netip"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func targets(n int) []netip.AddrPort {
	out := make([]netip.AddrPort, 0, n)
	for i := range n {
		out = append(out, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 80))
	}
	return out
}

func TestVerdictNeedsThresholds(t *testing.T) {
	check := Check{Healthy: 2, Unhealthy: 3}
	tests := map[string]struct {
		results string // + passed, - failed
		usable  bool
	}{
		"nothing known yet":          {"", true},
		"first result counts":        {"-", false},
		"first success counts":       {"+", true},
		"two failures are too few":   {"+--", true},
		"three failures":             {"+---", false},
		"a success breaks the row":   {"+--+--", true},
		"one success is too few":     {"-+", false},
		"two successes":              {"-++", true},
		"a failure breaks the row":   {"-+-+", false},
		"thresholds hold both ways":  {"+---++", true},
		"and again after a recovery": {"+---++--", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBalancer(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			only := targets(1)
			b.set(Frontend{Targets: only})
			for _, r := range test.results {
				b.report(only[0], r == '+', check)
			}
			if got := b.isUsable(only[0]); got != test.usable {
				t.Errorf("usable is %v, want %v", got, test.usable)
			}
		})
	}
}

func TestAffinityEndsWithSilenceOrHealth(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	b := newBalancer(clock)
	three, client := targets(3), netip.MustParseAddr("192.0.2.1")
	b.set(Frontend{Targets: three, Affinity: time.Minute})
	pick := func() netip.AddrPort {
		t.Helper()
		got, ok := b.pick(client, nil)
		if !ok {
			t.Fatal("no target")
		}
		return got
	}
	first := pick()
	clock.SetTime(clock.Now().Add(59 * time.Second))
	if got := pick(); got != first {
		t.Errorf("moved to %v before the time was over", got)
	}
	clock.SetTime(clock.Now().Add(time.Minute))
	second := pick()
	if second == first {
		t.Error("still there after a minute of silence")
	}
	b.report(second, false, Check{Healthy: 1, Unhealthy: 1})
	if got := pick(); got == second {
		t.Error("kept on an unhealthy target")
	}
}

func TestRemovedTargetForgetsItsVerdict(t *testing.T) {
	b := newBalancer(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	two := targets(2)
	b.set(Frontend{Targets: two})
	b.report(two[0], false, Check{Healthy: 1, Unhealthy: 1})
	b.set(Frontend{Targets: two[:1]})
	if b.isUsable(two[0]) {
		t.Error("a target that stays lost its health")
	}
	b.set(Frontend{})
	b.set(Frontend{Targets: two})
	if !b.isUsable(two[0]) {
		t.Error("a target that was removed and added kept its health")
	}
}

func TestAlgorithms(t *testing.T) {
	client := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}) }
	three := targets(3)
	for name, test := range map[string]struct {
		algorithm string
		// want are the targets of connections of three clients, and of the first of them again. The
		// second connection is closed before the last.
		want func(picked []netip.AddrPort) bool
	}{
		"in turn": {"", func(p []netip.AddrPort) bool { return p[3] == p[0] && p[0] != p[1] && p[1] != p[2] && p[2] != p[0] }},
		"fewest open connections": {LeastConnections, func(p []netip.AddrPort) bool {
			return p[0] != p[1] && p[1] != p[2] && p[2] != p[0] && p[3] == p[1]
		}},
		"address of the client": {SourceIP, func(p []netip.AddrPort) bool { return p[3] == p[0] }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBalancer(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			b.set(Frontend{Targets: three, Algorithm: test.algorithm})
			var picked []netip.AddrPort
			for i := range 4 {
				if i == 3 {
					b.closed(picked[1])
				}
				got, ok := b.pick(client(i%3), nil)
				if !ok {
					t.Fatal("no target")
				}
				picked = append(picked, got)
			}
			if !test.want(picked) {
				t.Errorf("targets %v", picked)
			}
		})
	}
}
