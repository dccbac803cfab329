package conformance

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// Scenario is one sequence of changes of a cluster, and its required result.
type Scenario struct {
	// Name is a few words; it names the subtest and the row of a table.
	Name string
	// Doc is one sentence with the required behaviour.
	Doc string
	// Needs are the capabilities that the scenario requires.
	Needs provider.Capabilities
	// Annotations are the portable annotations that the cloud must support.
	Annotations []string
	// NeedsCertificates is set if the world must have certificates for load balancers.
	NeedsCertificates bool
	// NeedsZones is set if the world must have availability zones that can be disrupted.
	NeedsZones bool
	// SkipsTime marks a scenario that takes many minutes: only drivers that skip time run it.
	SkipsTime bool
	// OwnFaults marks a scenario that injects faults itself, so that RunFaults skips it.
	OwnFaults bool
	// Teardown also interrupts the deletion of everything. All scenarios end with it, so one scenario with
	// objects of every kind is enough.
	Teardown bool
	// Steps runs the scenario. The runner and drivers verify the world after it, and clear it.
	Steps func(ctx context.Context, r *Session) error
}

// Missing returns a capability or a portable annotation that the scenario needs and a provider does not have, or "".
func (s Scenario) Missing(capabilities provider.Capabilities, portable []string) string {
	if lack := capabilities.Missing(s.Needs); lack != "" {
		return lack
	}
	for _, key := range s.Annotations {
		if !slices.Contains(portable, key) {
			return key
		}
	}
	return ""
}

// MissingIn returns what the scenario needs and a world does not have, or "".
func (s Scenario) MissingIn(w World) string {
	if _, ok := w.(world.Certificates); s.NeedsCertificates && !ok {
		return "certificates"
	}
	if _, ok := w.(world.ZoneDisrupter); s.NeedsZones && !ok {
		return "availability zones that can be disrupted"
	}
	return ""
}

var (
	needsInstances = provider.Capabilities{InstancesV2: true}
	needsBalancer  = provider.Capabilities{InstancesV2: true, LoadBalancer: true}
	needsRoutes    = provider.Capabilities{InstancesV2: true, Routes: true}
)

// execute runs the steps of a scenario and, if they succeed, verifies the world and clears it. It returns the
// world after the steps.
func (s Scenario) execute(ctx context.Context, r *Session) (endState, error) {
	if err := s.Steps(ctx, r); err != nil {
		return endState{}, err
	}
	if !r.dryRun {
		if err := r.Converge(ctx); err != nil {
			return endState{}, steps.Wrap("at the end of the scenario", err)
		}
	}
	end := r.endState()
	r.stepCalls = r.World.Front().Log().Len()
	return end, steps.Wrap("after deleting everything", r.Clear(ctx))
}

// loadBalancerService returns a Service of type LoadBalancer with TCP ports.
func loadBalancerService(name string, ports ...int32) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Annotations: map[string]string{}},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": name}},
	}
	for _, p := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, p))
	}
	return svc
}

func port(protocol v1.Protocol, p int32) v1.ServicePort {
	name := fmt.Sprintf("tcp-%d", p)
	if protocol == v1.ProtocolUDP {
		name = fmt.Sprintf("udp-%d", p)
	}
	return v1.ServicePort{Name: name, Protocol: protocol, Port: p}
}
