package lab

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws"
	awsannotation "github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/fake"
	fakesim "github.com/unified-ccm/unified-ccm/providers/fake/sim"
	"github.com/unified-ccm/unified-ccm/providers/gce"
	"github.com/unified-ccm/unified-ccm/providers/openstack"
	openstackannotation "github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/vsphere"
)

// TargetLabel is the label, with the value "yes", of the nodes that the benchmark's load balancers
// have as targets; see Simulator.TargetAnnotation.
const TargetLabel = "lab.unified-ccm.io/target"

// DefaultLatency is the latency of a call in the benchmark on clouds without their own default.
const DefaultLatency = 20 * time.Millisecond

// simulators are the clouds that can be simulated, by provider name. A new cloud adds one entry.
func simulators() map[string]Simulator {
	return map[string]Simulator{
		aws.ProviderName: {New: newAWS, CloudConfig: awsConfig, Balancers: awsBalancers(),
			Budgets: awsBudgets, Latency: awsLatency, TargetAnnotation: awsannotation.KeyNodeLabels},
		fake.ProviderName: {New: newFakeWorld, CloudConfig: fakeConfig, Budgets: fakeBudgets, Forwards: true},
		gce.ProviderName:  {New: newGCE, CloudConfig: gceConfig, Balancers: gceBalancers(), Budgets: gceBudgets},
		openstack.ProviderName: {New: newOpenStack, CloudConfig: openStackConfig, Services: true,
			Budgets: openStackBudgets, TargetAnnotation: openstackannotation.KeyNodeSelector},
		vsphere.ProviderName: {New: newVSphere, CloudConfig: vSphereConfig, Budgets: vSphereBudgets},
	}
}

func newFakeWorld(o SimulatorOptions) (conformance.World, func() error, error) {
	options := fakesim.Options{Latency: o.Latency, ProvisionTime: o.ProvisionTime, StateFile: o.StateFile,
		Seed: o.Seed, ErrorRate: o.ErrorRate, Token: o.Token,
		// Room for the benchmark.
		Quotas: map[string]int{"instances": 10_000, "load-balancers": 10_000, "addresses": 10_000, "routes": 10_000}}
	if !o.Proxy {
		if o.LoadBalancers > 0 {
			options.Pools = []netip.Prefix{largePool}
		}
		return newFake(options)
	}
	options.DataPlane = fakesim.DataPlaneProxy
	if len(o.Instances) > 0 {
		options.InstanceRanges, options.Pools = o.Instances, o.Public
		return newFake(options)
	}
	loopback, err := claimLoopback()
	if err != nil {
		return nil, nil, err
	}
	options.InstanceRanges, options.Pools, options.InternalPools = loopback.ranges()
	cloud, closeCloud, err := newFake(options)
	if err != nil {
		return nil, nil, errors.Join(err, loopback.Close())
	}
	return cloud, func() error { return errors.Join(closeCloud(), loopback.Close()) }, nil
}

// fakeBudgets are for Services of two ports.
func fakeBudgets(nodes, services int) map[string]Budget {
	// The cloud answers with up to 500 instances at a time.
	pages := (nodes + 499) / 500
	return map[string]Budget{
		// More nodes also take longer to register, and share more lists, each of all pages.
		PhaseJoin:      {Calls: 10*pages + 10*max(0, pages-2)},
		PhaseRefresh:   {Calls: 2 * pages, ReadOnly: true},
		PhaseCreateOne: {Calls: 8},
		PhaseDeleteOne: {Calls: 4},
		// The updates of two pools for each Service, and the reads that identify them.
		PhaseAddNode:      {Calls: 2*services + 2*pages + 20},
		PhaseRestart:      {Calls: 8*pages + 20, ReadOnly: true},
		PhaseRestartAgain: {Calls: 8*pages + 20, ReadOnly: true},
		PhaseIdle:         {Calls: 2, ReadOnly: true},
	}
}

func fakeConfig(endpoint string, _ conformance.World, o SimulatorOptions) string {
	config := fmt.Sprintf("[Global]\nendpoint = %s\n", endpoint)
	if o.Token != "" {
		config += fmt.Sprintf("token = %q\n", o.Token)
	}
	if o.SeveralClouds {
		config += "adopt-unknown-nodes = false\n"
	}
	return config
}

func newFake(o fakesim.Options) (conformance.World, func() error, error) {
	cloud, err := fakesim.New(o)
	if err != nil {
		return nil, nil, err
	}
	return cloud, cloud.Close, nil
}

// Capabilities returns the jobs of the provider of a cloud.
func Capabilities(name string) provider.Capabilities {
	descriptor, _ := provider.Get(name)
	return descriptor.Capabilities
}

// Balancers returns the kinds of load balancers of a cloud, at least one.
func Balancers(provider string) []BalancerKind {
	if kinds := simulators()[provider].Balancers; len(kinds) > 0 {
		return kinds
	}
	return []BalancerKind{{}}
}

// ServiceAnnotations returns the annotations of the Services of a lab on this cloud.
func ServiceAnnotations(provider string) map[string]string {
	return Balancers(provider)[0].ServiceAnnotations
}

// Budgets returns the maximum cost of the benchmark's phases on a cloud, by their names.
func Budgets(provider string, nodes, services int) map[string]Budget {
	if budgets := simulators()[provider].Budgets; budgets != nil {
		return budgets(nodes, services)
	}
	return nil
}

// Latency returns the benchmark's default latency of each call to a cloud.
func Latency(provider string) time.Duration {
	return cmp.Or(simulators()[provider].Latency, DefaultLatency)
}

// Forwards reports whether the load balancers of a cloud forward traffic. The addresses of other clouds may be those of
// real machines, which must not get requests.
func Forwards(provider string) bool { return simulators()[provider].Forwards }

// TargetAnnotation returns Simulator.TargetAnnotation of a cloud.
func TargetAnnotation(provider string) string { return simulators()[provider].TargetAnnotation }

// Providers returns the names of the clouds that can be simulated, sorted.
func Providers() []string { return slices.Sorted(maps.Keys(simulators())) }

// Cloud is a simulated cloud, or real services, served over HTTP.
type Cloud struct {
	// Provider is its name.
	Provider string
	World    conformance.World
	// Endpoint is its URL; Config is the content of a cloud.conf for it.
	Endpoint, Config string

	handler atomic.Pointer[http.Handler]
	server  *http.Server
	close   func() error
}

// StartCloud serves a simulated cloud of the provider at addr, host:port; port 0 uses a free one.
func StartCloud(ctx context.Context, provider, addr string, o SimulatorOptions) (*Cloud, error) {
	simulator, ok := simulators()[provider]
	if !ok {
		return nil, fmt.Errorf("no simulator for provider %q; there is one for %s", provider, strings.Join(Providers(), ", "))
	}
	if o.Services != "" && !simulator.Services {
		return nil, fmt.Errorf("there is no lab of real services for provider %q", provider)
	}
	world, closeWorld, err := simulator.New(o)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("the simulated cloud cannot listen at %s: %w", addr, err)
	}
	scheme := "http"
	if secure, ok := world.(interface{ TLS() *tls.Config }); ok {
		// Clients of such a cloud accept only https.
		listener, scheme = tls.NewListener(listener, secure.TLS()), "https"
	}
	c := &Cloud{
		Provider: provider, World: world, Endpoint: scheme + "://" + listener.Addr().String(), close: closeWorld,
	}
	c.AnswerWith(world.Front())
	c.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { (*c.handler.Load()).ServeHTTP(w, r) })}
	c.Config = simulator.CloudConfig(c.Endpoint, world, o)
	go func() { _ = c.server.Serve(listener) }() // It always returns an error when the server is closed.
	return c, nil
}

// AnswerWith has a handler answer the calls to the endpoint from now on: that of another world is another account of
// the cloud.
func (c *Cloud) AnswerWith(handler http.Handler) { c.handler.Store(&handler) }

// Close stops the server and the world.
func (c *Cloud) Close() error {
	err := c.server.Close()
	if closeErr := c.close(); err == nil {
		err = closeErr
	}
	return err
}
