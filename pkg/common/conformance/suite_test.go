package conformance

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/controllers"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/faults"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

func nodeName(name string) types.NodeName { return types.NodeName(name) }

// TestToy shows that a provider without mistakes passes.
func TestToy(t *testing.T) { Run(t, toySubject(noMistake)) }

// TestToyFaults shows that it also passes interrupted.
func TestToyFaults(t *testing.T) {
	RunFaults(t, toySubject(noMistake), "vanished instance", "ports changed", "deletion", "routes added")
}

// TestMistakes shows that the suite can fail: each mistake is found by the scenario that is meant
// to find it, with a message that says what is wrong.
func TestMistakes(t *testing.T) {
	controllers.DiscardLogs(t)
	for _, tc := range []struct {
		mistake  mistake
		scenario string
		want     string
	}{
		{errorIsGone, "failing cloud", "node node-1 was deleted, although its machine exists"},
		{alwaysWrites, "restart", "mutating calls where none was needed: PUT balancers"},
		{remembersOnly, "changed while away", "load balancers, want"},
		{keepsBalancers, "deletion", "the world has 2 load balancers, want 1"},
		{forgetsRanges, "source ranges", "source ranges are [], want [203.0.113.0/24]"},
		{greedyRoutes, "foreign routes", "foreign route to 10.244.200.0/24 was changed"},
		{blindPlan, "drift", `does not name "balancer", which was changed by hand`},
		{wrongZone, "node labels", `label topology.kubernetes.io/zone is "z0", the machine says "z1"`},
		{externalFirst, "node addresses", "after an external one"},
	} {
		t.Run(string(tc.mistake), func(t *testing.T) {
			t.Parallel()
			var err error
			synctest.Test(t, func(t *testing.T) {
				_, err = toySubject(tc.mistake).run(t, find(t, tc.scenario), nil)
			})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("scenario %q says:\n%v\nwant %q in it", tc.scenario, err, tc.want)
			}
		})
	}
}

// TestMistakeOnlyInterruptionsFind shows that faults find what undisturbed runs do not.
func TestMistakeOnlyInterruptionsFind(t *testing.T) {
	controllers.DiscardLogs(t)
	subject, scenario := toySubject(remembersOnly), find(t, "load balancer created")
	var clean outcome
	var err error
	synctest.Test(t, func(t *testing.T) { clean, err = subject.run(t, scenario, nil) })
	if err != nil {
		t.Fatalf("undisturbed: %v", err)
	}
	var failures []string
	for _, kind := range faults.Kinds() {
		failures = append(failures, subject.interruptBy(t, scenario, kind, clean, &faults.Tally{})...)
	}
	if len(failures) == 0 {
		t.Error("no interruption found that a killed manager leaves a load balancer behind")
	}
}

// TestKillAfterReadIsLeftOut shows which calls each kind of fault interrupts.
func TestKillAfterReadIsLeftOut(t *testing.T) {
	read, write := sim.Operation{Name: "GET"}, sim.Operation{Name: "PUT", Mutating: true}
	calls := []sim.Operation{read, write, read, write}
	for _, kind := range faults.Kinds() {
		want := calls
		if kind == sim.FaultKillAfter {
			want = []sim.Operation{write, write}
		}
		if have := faults.Affected(kind, calls); !slices.Equal(have, want) {
			t.Errorf("%s interrupts %v, want %v", kind, have, want)
		}
	}
}

func TestTruthful(t *testing.T) {
	lying := toySubject(noMistake)
	lying.Capabilities.Routes = false
	for _, tc := range []struct {
		name    string
		subject Subject
		want    string
	}{
		{"truth", toySubject(noMistake), ""},
		{"claims too little", lying, "does not have the capabilities it claims"},
		{"wrong name", toySubject(misnamed), `the provider's name is "toe", want "toy"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.subject.verifyCapabilities(t)
			if (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func find(t *testing.T, name string) Scenario {
	t.Helper()
	for _, s := range Scenarios() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no scenario %q", name)
	return Scenario{}
}
