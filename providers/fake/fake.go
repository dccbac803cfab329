// Package fake is the provider of a cloud that runs on a laptop: a cloud with instances, load balancers,
// addresses and routes, behind its own HTTP API, simulated by package sim in this process or in another. It
// has the structure of every provider, and is the example for new ones: docs/guides/write-a-provider.md
// explains these files.
package fake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/client"
	"github.com/unified-ccm/unified-ccm/providers/fake/config"
	"github.com/unified-ccm/unified-ccm/providers/fake/instances"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/fake/names"
	fakeroutes "github.com/unified-ccm/unified-ccm/providers/fake/routes"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim"
)

// ProviderName is the registry key.
const ProviderName = names.Provider

func init() { provider.Register(Descriptor()) }

// Descriptor describes the provider.
func Descriptor() provider.Descriptor {
	return provider.Descriptor{
		Name:  ProviderName,
		Title: "Fake",
		Summary: "A cloud simulated on this machine, for demos, for tests, and for clusters made " +
			"with kind and kwok.",
		Config:             config.Keys(),
		Annotations:        annotation.Documentation(),
		AnnotationPrefixes: annotation.Prefixes(),
		Portable:           annotation.Portable(),
		Disruptions:        loadbalancer.Effects(),
		Capabilities:       provider.Capabilities{LoadBalancer: true, InstancesV2: true, Routes: true},
		Controllers:        []provider.Controller{nodeipam.Controller(true)},
		ControllerAliases:  nodeipam.Aliases(nil),
		AllocatesRanges:    true,
		ValidateConfig:     config.Reader.Validate,
		ShowConfig:         config.Reader.Show,
		New:                factory,
	}
}

// factory implements cloudprovider.Factory. The registry holds its lock while it runs, so it makes no network
// call; Check does.
func factory(r io.Reader) (cloudprovider.Interface, error) {
	cfg, _, err := config.Reader.Load(r)
	if err != nil {
		return nil, err
	}
	return NewCloud(cfg)
}

// Cloud implements cloudprovider.Interface. It returns the values that NewCloud has built.
type Cloud struct {
	provider.Base
	nodeipam.Starter

	loadBalancer *lbcommon.Controller
	instances    *instances.Instances
	routes       *routes.Routes
	inventory    inventory.Listers

	api    api.API
	config config.Config
	// simulator is the simulated cloud if it runs in this process.
	simulator *sim.Cloud
	// dryRun is set before Initialize, once.
	dryRun bool
}

var (
	_ cloudprovider.Interface    = (*Cloud)(nil)
	_ cloudprovider.InformerUser = (*Cloud)(nil)
	_ provider.RuntimeUser       = (*Cloud)(nil)
	_ provider.Checker           = (*Cloud)(nil)
	_ provider.ControllerStarter = (*Cloud)(nil)
	_ provider.NodeOwner         = (*Cloud)(nil)
	_ inventory.Provider         = (*Cloud)(nil)
)

// Option changes how NewCloud builds a Cloud.
type Option func(*options)

type options struct {
	transport http.RoundTripper
	clock     clock.WithTicker
}

// WithTransport sends all requests through rt, instead of to the cloud in the configuration.
func WithTransport(rt http.RoundTripper) Option { return func(o *options) { o.transport = rt } }

// WithClock sets the clock of everything, the simulated cloud included.
func WithClock(c clock.WithTicker) Option { return func(o *options) { o.clock = c } }

// NewCloud returns the provider for a valid configuration. It makes no call. A cloud in this process runs
// until the channel given to Initialize is closed.
func NewCloud(cfg config.Config, opts ...Option) (*Cloud, error) {
	o := options{clock: clock.RealClock{}}
	for _, set := range opts {
		set(&o)
	}
	c := &Cloud{Base: provider.NewBase(ProviderName), config: cfg}
	if err := c.connect(&o); err != nil {
		return nil, err
	}
	calls, err := client.New(client.Options{
		Endpoint: cfg.Global.Endpoint, Token: cfg.Global.Token, Transport: o.transport, Clock: o.clock,
	})
	if err != nil {
		return nil, err
	}
	c.api = calls
	c.build(o.clock)
	return c, nil
}

// connect starts a cloud in this process, and sets the transport to it, unless the caller or the configuration names
// another one.
func (c *Cloud) connect(o *options) error {
	if o.transport != nil || c.config.Global.Endpoint != "" {
		return nil
	}
	simulator, err := sim.New(c.config.Simulator(o.clock))
	if err != nil {
		return fmt.Errorf("start the simulated cloud: %w", err)
	}
	c.simulator = simulator
	o.transport = simulator.Front().Transport()
	return nil
}

func (c *Cloud) build(clk clock.WithTicker) {
	g := c.config.Global
	ids := names.NewScheme(g.AdoptUnknownNodes)
	c.instances = instances.New(instances.Options{
		API: c.api, IDs: ids, Nodes: c.Nodes(), Clock: clk, Region: g.Region,
		Adopt: g.AdoptUnknownNodes, InstanceType: g.InstanceType, InMemory: c.simulator != nil && g.StateFile == "",
	})
	c.routes = routes.New(routes.Options{Provider: ProviderName, Nodes: c.Nodes()},
		&fakeroutes.Source{API: c.api}, c.instances)
	cloud := loadbalancer.New(c.api, ids.Parse, clk)
	c.loadBalancer = lbcommon.New(lbcommon.Options{
		Provider:   ProviderName,
		Vocabulary: annotation.Vocabulary(ProviderName),
		OwnsNode:   c.instances.OwnsNode,
		Nodes:      c.Nodes(),
		Clock:      clk,
	}, cloud)
	c.inventory = inventory.Listers{cloud, c.routes}
}

// Initialize implements cloudprovider.Interface.
func (c *Cloud) Initialize(_ cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	if c.simulator == nil {
		return
	}
	if !c.dryRun {
		c.simulator.StartDataPlane()
	}
	go func() {
		<-stop
		if err := c.simulator.Close(); err != nil {
			klog.Background().Error(err, "Failed to close the simulated cloud", "stateFile", c.config.Global.StateFile)
		}
	}()
}

// SetRuntime implements provider.RuntimeUser.
func (c *Cloud) SetRuntime(r provider.Runtime) {
	c.loadBalancer.SetRuntime(r)
	c.instances.SetDryRun(r.DryRun)
	c.dryRun = r.DryRun
}

// checkTimeout bounds Check: a manager that cannot reach its cloud reports that soon.
const checkTimeout = client.CallTimeout

// Check implements provider.Checker: it reads the zones, which verifies that the cloud is reachable, accepts
// the token, and has the configured region.
func (c *Cloud) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	zones, err := c.api.ListZones(ctx)
	switch {
	case cloudapi.Is(err, cloudapi.Denied):
		return &cloudapi.Error{Class: cloudapi.Denied, Operation: "ListZones",
			Err: fmt.Errorf("the fake cloud rejects the credentials: set token in section [Global] to the token that the "+
				"cloud was started with: %w", causeOf(err))}
	case err != nil && c.config.Global.Endpoint != "":
		return fmt.Errorf("the fake cloud does not answer at endpoint %s (section [Global]): %w", c.config.Global.Endpoint,
			err)
	case err != nil:
		return err
	}
	var regions []string
	for _, zone := range zones {
		regions = append(regions, zone.Region)
	}
	if !slices.Contains(regions, c.config.Global.Region) {
		slices.Sort(regions)
		return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "ListZones",
			Err: fmt.Errorf("region in section [Global] is %q, and the cloud has only %q", c.config.Global.Region,
				slices.Compact(regions))}
	}
	return nil
}

func causeOf(err error) error {
	var e *cloudapi.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// OwnsNode implements provider.NodeOwner.
func (c *Cloud) OwnsNode(node *v1.Node) provider.Ownership { return c.instances.OwnsNode(node) }

// LoadBalancer implements cloudprovider.Interface.
func (c *Cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c.loadBalancer, true }

// InstancesV2 implements cloudprovider.Interface.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.instances, true }

// Routes implements cloudprovider.Interface.
func (c *Cloud) Routes() (cloudprovider.Routes, bool) { return c.routes, true }

// Inventory implements inventory.Provider.
func (c *Cloud) Inventory() (inventory.Lister, bool) { return c.inventory, true }
