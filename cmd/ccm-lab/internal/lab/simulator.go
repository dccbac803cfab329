package lab

import (
	"net/netip"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
)

// SimulatorOptions configure a simulated cloud.
type SimulatorOptions struct {
	// Latency of every call, and ProvisionTime of a load balancer.
	Latency, ProvisionTime time.Duration
	// Seed makes faults repeatable. ErrorRate, from 0 to 1, is the probability of a fault for each call.
	Seed      int64
	ErrorRate float64
	// Token is what callers must present; empty accepts all callers.
	Token string
	// StateFile keeps the state over restarts, if the simulator supports it.
	StateFile string
	// Services is the folder of a lab of real services, which replace the simulation if the provider has such a
	// lab. Latency and ErrorRate apply to them too.
	Services string
	// Proxy makes load balancers forward traffic on the loopback, if the simulator supports it.
	Proxy bool
	// Instances and Public are the ranges of instances and of public load balancers with Proxy, on a network that reaches
	// them; empty uses the loopback.
	Instances, Public []netip.Prefix
	// LoadBalancers is the number of load balancers for which the cloud needs public addresses at the same time.
	// Zero leaves the simulator's pool, which has 254 addresses on fake.
	LoadBalancers int
	// IPv6 adds IPv6 to the cluster's network, if the simulator has a choice.
	IPv6 bool
	// Pods is the range from which the cloud assigns each machine one for its pods, if the simulator supports it.
	Pods netip.Prefix
	// SeveralClouds says that the cluster has other clouds, too: a node without a machine may be one of theirs.
	SeveralClouds bool
}

// largePool is the public address pool of a cloud with LoadBalancers: the range for benchmarks (RFC 2544),
// 131,070 addresses.
var largePool = netip.MustParsePrefix("198.18.0.0/15")

// starting describes the step that starts the cloud.
func (o SimulatorOptions) starting(provider string) string {
	if o.Services != "" {
		return "creating a project on the real services of " + provider
	}
	return "starting the simulated cloud " + provider
}

// Simulator is a cloud that a lab can simulate.
type Simulator struct {
	// New creates a world, and returns the function that stops it.
	New func(o SimulatorOptions) (conformance.World, func() error, error)
	// CloudConfig returns the cloud.conf for a world at endpoint, a URL.
	CloudConfig func(endpoint string, world conformance.World, o SimulatorOptions) string
	// Services reports that New supports real services too.
	Services bool
	// Forwards reports that load balancers forward traffic with SimulatorOptions.Proxy.
	Forwards bool
	// Balancers are the kinds of load balancers of a cloud with several. The lab shows and measures the first.
	Balancers []BalancerKind
	// Budgets returns the maximum cost of the benchmark's phases, by the names of bench's phases; nil without
	// targets. They apply at Latency per call, which is the benchmark's default; zero is DefaultLatency.
	Budgets func(nodes, services int) map[string]Budget
	Latency time.Duration
	// TargetAnnotation selects the nodes of a Service by a label. The benchmark's Services select TargetLabel,
	// because load balancers cannot have all nodes of a large cluster as targets. On a cloud without this
	// annotation, the other nodes have the label of Kubernetes that excludes them.
	TargetAnnotation string
}

// Budget is the maximum cost of one phase of the benchmark.
type Budget struct {
	// Calls to the cloud, of all kinds.
	Calls int `json:"calls"`
	// ReadOnly forbids mutating calls.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Seconds from the start until the phase is complete; 0 sets no target.
	Seconds float64 `json:"seconds,omitempty"`
}

// BalancerKind is a kind of load balancer of a cloud. The zero value is the only kind of a cloud with one.
type BalancerKind struct {
	// Name is a word.
	Name string
	// ServiceAnnotations select the kind for a Service.
	ServiceAnnotations map[string]string
	// Unsupported are the names of conformance scenarios that it does not support, with the reason.
	Unsupported map[string]string
}
