package conformance

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/controllers"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/faults"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
)

// Subject is a provider under test.
type Subject struct {
	// Name is the provider's name.
	Name string
	// Capabilities are those of its descriptor: the suite verifies them, and skips the scenarios of the others
	// with a message.
	Capabilities provider.Capabilities
	// Portable are those of its descriptor; the suite skips the scenarios of other annotations.
	Portable []string
	// Disruptions are those of its descriptor: the changes of every plan that a scenario reads must be among them.
	Disruptions []plan.Effect
	// New creates an empty world and the function that starts managers on it. It is called inside a synctest
	// bubble, once for each run; t.Cleanup ends the world.
	New func(t testing.TB) (World, Manager)
	// ServiceAnnotations select the kind of load balancer, if the cloud has several.
	ServiceAnnotations map[string]string
	// Sample is the number of calls of each scenario that are interrupted in each way with -short; 0 means
	// DefaultSample. A cloud with a slow SDK has a smaller one.
	Sample int
	// TakeOver is nil if the world cannot be taken over; the scenarios that need it are skipped.
	TakeOver *TakeOver
	// Unsupported are scenarios that this kind of load balancer does not support, with the reason; the suite skips
	// them with a message.
	Unsupported map[string]string
}

// Run runs every scenario against the subject, in process and without faults.
func Run(t *testing.T, subject Subject) {
	t.Helper()
	controllers.DiscardLogs(t)
	t.Run("capabilities", func(t *testing.T) {
		t.Parallel()
		steps.InBubble(t, func(t *testing.T) error { return subject.verifyCapabilities(t) })
	})
	for _, scenario := range Scenarios() {
		t.Run(scenario.Name, func(t *testing.T) {
			t.Parallel()
			if reason := subject.skipReason(t, scenario); reason != "" {
				t.Skip(reason)
			}
			steps.InBubble(t, func(t *testing.T) error {
				_, err := subject.run(t, scenario, nil)
				return err
			})
		})
	}
}

// skipReason returns why the suite skips a scenario, or "".
func (s Subject) skipReason(t *testing.T, scenario Scenario) (reason string) {
	if lack := scenario.Missing(s.Capabilities, s.Portable); lack != "" {
		return fmt.Sprintf("provider %s has no %s", s.Name, lack)
	}
	if reason, ok := s.Unsupported[scenario.Name]; ok {
		return fmt.Sprintf("provider %s: %s", s.Name, reason)
	}
	if scenario.NeedsCertificates || scenario.NeedsZones { // Other scenarios do not need a world for the decision.
		synctest.Test(t, func(t *testing.T) {
			world, _ := s.New(t)
			if lack := scenario.MissingIn(world); lack != "" {
				reason = fmt.Sprintf("the world of provider %s has no %s", s.Name, lack)
			}
		})
	}
	return reason
}

// outcome is the result of one run.
type outcome struct {
	end endState
	// calls are in order, without those of deleting everything unless the scenario includes them.
	calls []sim.Operation
	// injected is the number of faults that were injected.
	injected int
}

// Session starts a manager in a fresh world, which prepare, if it is not nil, may change before. It must be called
// inside a bubble. The manager runs until end is called.
func (s Subject) Session(ctx context.Context, t testing.TB, prepare func(World) error) (r *Session, end func(),
	err error) {
	world, start := s.New(t)
	if prepare != nil {
		if err := prepare(world); err != nil {
			return nil, nil, err
		}
	}
	cluster, err := newInProcess(ctx, world, start, synctest.Wait)
	if err != nil {
		return nil, nil, err
	}
	r = NewSession(cluster, world, s.Capabilities)
	r.Disruptions, r.ServiceAnnotations, r.TakeOver = s.Disruptions, s.ServiceAnnotations, s.TakeOver
	return r, cluster.end, nil
}

// run executes one scenario in a fresh world, with a fault if one is given. It must be called inside a bubble.
func (s Subject) run(t testing.TB, scenario Scenario, fault *sim.Fault) (outcome, error) {
	ctx := klog.NewContext(t.Context(), logr.Discard())
	r, end, err := s.Session(ctx, t, nil)
	if err != nil {
		return outcome{}, err
	}
	defer end()
	world := r.World
	r.faults = fault != nil
	if fault != nil {
		// The fault can also interrupt reads of the scenario itself, for a plan.
		r.Attempts = 3
		world.Front().SetFaults(*fault)
	}
	state, err := scenario.execute(ctx, r)
	out := outcome{end: state, injected: world.Front().Injected()}
	for _, call := range world.Front().Log().Calls() {
		out.calls = append(out.calls, call.Operation)
	}
	if !scenario.Teardown && err == nil {
		out.calls = out.calls[:r.stepCalls]
	}
	return out, err
}

// verifyCapabilities compares the descriptor's capabilities with those of the provider.
func (s Subject) verifyCapabilities(t testing.TB) error {
	_, start := s.New(t)
	cloud, err := start(ManagerOptions{})
	if err != nil {
		return err
	}
	have := capabilitiesOf(cloud)
	if diff := cmp.Diff(s.Capabilities, have); diff != "" {
		err = fmt.Errorf("the provider does not have the capabilities it claims (-claimed +found):\n%s", diff)
	}
	if cloud.ProviderName() != s.Name {
		err = errors.Join(err, fmt.Errorf("the provider's name is %q, want %q", cloud.ProviderName(), s.Name))
	}
	return err
}

func capabilitiesOf(cloud cloudprovider.Interface) provider.Capabilities {
	var c provider.Capabilities
	_, c.LoadBalancer = cloud.LoadBalancer()
	_, c.InstancesV2 = cloud.InstancesV2()
	_, c.Routes = cloud.Routes()
	return c
}

const (
	// DefaultSample is the Sample of a subject without its own.
	DefaultSample = 6
	// maxReportedFailures is the maximum number of failures of one scenario and kind in a report: more add no information.
	maxReportedFailures = 3
	// gcPercent trades some ten megabytes for time.
	gcPercent = 800
)

// RunFaults interrupts every scenario at every single cloud call, in every way that makes a difference, and checks that
// it ends in the same state as without the fault: nothing doubled, nothing leaked, no node deleted. With -short it
// interrupts a sample of calls; with names, only those scenarios.
func RunFaults(t *testing.T, subject Subject, names ...string) {
	t.Helper()
	controllers.DiscardLogs(t)
	// Thousands of small worlds live for milliseconds each: collecting their garbage less often saves a quarter
	// of the time. The setting is restored for the next test.
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	var tally faults.Tally
	t.Run("scenarios", func(t *testing.T) {
		for _, scenario := range Scenarios() {
			if scenario.OwnFaults || len(names) > 0 && !slices.Contains(names, scenario.Name) {
				continue
			}
			t.Run(scenario.Name, func(t *testing.T) {
				t.Parallel()
				if reason := subject.skipReason(t, scenario); reason != "" {
					t.Skip(reason)
				}
				subject.interrupt(t, scenario, &tally)
			})
		}
	})
	// The number is part of the result, so it is printed without -v too.
	_, _ = fmt.Fprintln(os.Stdout, tally.String(subject.Name))
}

// interrupt runs one scenario once without a fault, and then once for each call and kind.
func (s Subject) interrupt(t *testing.T, scenario Scenario, tally *faults.Tally) {
	var clean outcome
	steps.InBubble(t, func(t *testing.T) (err error) {
		clean, err = s.run(t, scenario, nil)
		return steps.Wrap("without any fault", err)
	})
	if t.Failed() {
		return
	}
	t.Logf("%d calls to interrupt", len(clean.calls))
	for _, kind := range faults.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			if failures := s.interruptBy(t, scenario, kind, clean, tally); len(failures) > 0 {
				t.Errorf("\n%s", strings.Join(failures, "\n\n"))
			}
		})
	}
}

// interruptBy interrupts the scenario at each call in one way, and returns what failed.
func (s Subject) interruptBy(t *testing.T, scenario Scenario, kind sim.FaultKind, clean outcome,
	tally *faults.Tally) []string {
	var failures []string
	calls := faults.Affected(kind, clean.calls)
	for _, call := range faults.Calls(len(calls), stdcmp.Or(s.Sample, DefaultSample), kind) {
		fault := sim.Fault{Kind: kind, Call: call, Mutating: kind == sim.FaultKillAfter}
		err := s.interruptAt(t, scenario, fault, clean, tally)
		if err == nil {
			continue
		}
		failures = append(failures, fmt.Sprintf("%s at call %d (%s without the fault):\n%v", kind, call, calls[call-1].Name,
			err))
		if len(failures) == maxReportedFailures {
			break
		}
	}
	return failures
}

func (s Subject) interruptAt(t *testing.T, scenario Scenario, fault sim.Fault, clean outcome,
	tally *faults.Tally) (err error) {
	synctest.Test(t, func(t *testing.T) {
		var got outcome
		got, err = s.run(t, scenario, &fault)
		if diff := cmp.Diff(clean.end, got.end); err == nil && diff != "" {
			err = fmt.Errorf("the final state differs from that without the fault (-without +with):\n%s", diff)
		}
		tally.Add(scenario.Name, got.injected)
	})
	return err
}

// Scenarios returns all scenarios, in reading order.
func Scenarios() []Scenario {
	return slices.Concat(nodeScenarios(), serviceScenarios(), lifeScenarios(), routeScenarios(),
		planScenarios(), ruleScenarios(), causeScenarios(), listenerScenarios(), zoneScenarios())
}
