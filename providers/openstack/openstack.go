// Package openstack is the provider of OpenStack clouds: Nova servers as nodes, Octavia load
// balancers with Neutron floating IPs, and pod routes in a Neutron router. It adopts the objects
// of earlier managers on OpenStack by the names and tags of package names.
package openstack

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	commonroutes "github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/client"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/instances"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/diff"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/routes"
)

// ProviderName is the registry key, the scheme of provider IDs and the metric label. It can never
// change.
const ProviderName = names.Scheme

// envRegional is the environment variable that, with the value true, puts the region into the
// provider IDs of new nodes. Without it, managers of several regions in one cluster would consider
// each other's nodes deleted.
const envRegional = "OS_CCM_REGIONAL"

func init() { provider.Register(Descriptor()) }

// Descriptor describes the provider to the registry.
func Descriptor() provider.Descriptor {
	flags := &flags{}
	return provider.Descriptor{
		Name:  ProviderName,
		Title: "OpenStack",
		Summary: "Nova servers as nodes, Octavia load balancers with floating IPs, and pod routes in a Neutron " +
			"router.",
		Config:             config.Keys(),
		Annotations:        annotation.Documentation(),
		AnnotationPrefixes: annotation.Prefixes(),
		Portable:           annotation.Portable(),
		Disruptions:        diff.Effects(),
		Capabilities:       provider.Capabilities{LoadBalancer: true, InstancesV2: true, Routes: true},
		Flags:              flags.add,
		InheritedFlags:     inheritedFlags(),
		Controllers:        []provider.Controller{nodeipam.Controller(true)},
		ControllerAliases:  nodeipam.Aliases(nil),
		AllocatesRanges:    true,
		ValidateConfig:     config.Reader.Validate,
		ShowConfig:         config.Reader.Show,
		New:                func(r io.Reader) (cloudprovider.Interface, error) { return factory(r, flags) },
	}
}

// factory implements cloudprovider.Factory. The registry holds its lock while it runs, so it makes no
// network call; Check does.
func factory(r io.Reader, f *flags) (cloudprovider.Interface, error) {
	cfg, file, err := config.Reader.Load(r)
	if err != nil {
		return nil, err
	}
	return NewCloud(cfg, WithConfigFile(file), withFlags(f))
}

// Cloud implements cloudprovider.Interface.
type Cloud struct {
	provider.Base
	nodeipam.Starter

	config config.Config
	client *client.Client
	clock  clock.PassiveClock

	loadBalancer *lbcommon.Controller
	instances    *commoninstances.Instances
	routes       *commonroutes.Routes
	inventory    inventory.Listers
	clusterUID   atomic.Value
}

var (
	_ cloudprovider.Interface    = (*Cloud)(nil)
	_ cloudprovider.InformerUser = (*Cloud)(nil)
	_ provider.RuntimeUser       = (*Cloud)(nil)
	_ provider.Checker           = (*Cloud)(nil)
	_ provider.HealthReporter    = (*Cloud)(nil)
	_ provider.ControllerStarter = (*Cloud)(nil)
	_ provider.NodeOwner         = (*Cloud)(nil)
	_ inventory.Provider         = (*Cloud)(nil)
)

// Option changes how NewCloud builds a Cloud.
type Option func(*options)

type options struct {
	transport  http.RoundTripper
	clock      clock.WithTicker
	configFile string
	regional   bool
	flags      *flags
	retry      cloudapi.Retry
}

// WithTransport sends all requests through rt, including those for tokens.
func WithTransport(rt http.RoundTripper) Option { return func(o *options) { o.transport = rt } }

// WithClock sets the clock of everything but deadlines.
func WithClock(c clock.WithTicker) Option { return func(o *options) { o.clock = c } }

// WithConfigFile sets the file that the configuration was read from. When it changes, credentials are
// reloaded.
func WithConfigFile(name string) Option { return func(o *options) { o.configFile = name } }

func withFlags(f *flags) Option { return func(o *options) { o.flags = f } }

// NewCloud returns the provider for a valid configuration. It makes no call, but reads clouds.yaml if the
// configuration refers to it.
func NewCloud(cfg config.Config, opts ...Option) (*Cloud, error) {
	o := options{clock: clock.RealClock{}, regional: os.Getenv(envRegional) == "true", flags: &flags{}}
	for _, apply := range opts {
		apply(&o)
	}
	complete, _, err := cfg.Global.Complete()
	if err != nil {
		return nil, err
	}
	// The region is a label of nodes, and must not change while the manager runs.
	cfg.Global.Region = complete.Region
	if o.regional && cfg.Global.Region == "" {
		return nil, fmt.Errorf("%s = true requires region in section [Global]", envRegional)
	}
	c := &Cloud{Base: provider.NewBase(ProviderName), config: cfg, clock: o.clock}
	c.client = client.New(client.Options{
		Global: cfg.Global, Transport: o.transport, Clock: o.clock, Retry: o.retry,
		ConfigFile: o.configFile, UserAgent: o.flags.userAgent,
	})
	c.build(o)
	return c, nil
}

func (c *Cloud) build(o options) {
	clients, region := api.New(c.client), c.config.Global.Region
	ids := names.ProviderIDs(region)
	instanceSource := instances.NewSource(instances.Options{
		Compute: clients, Network: clients, ProviderIDs: ids, Region: region, Regional: o.regional,
		Networking: c.config.Networking, Clock: o.clock,
	})
	c.instances = commoninstances.New(commoninstances.Options{
		Provider: ProviderName, Clock: o.clock, Nodes: c.Nodes(),
	}, instanceSource, ids)
	routeSource := routes.NewSource(routes.Options{
		Network: clients, RouterID: c.config.Route.RouterID, Ports: instanceSource.Ports(), Nodes: c.Nodes(),
		ProviderIDs: ids, Clock: o.clock, ClusterUID: c.runtimeClusterUID,
	})
	c.routes = commonroutes.New(commonroutes.Options{
		Provider: ProviderName, RejectsForeign: true, Nodes: c.Nodes(), Window: routes.BatchWindow, Clock: o.clock,
	}, routeSource, c.instances)
	loadBalancers := loadbalancer.New(loadbalancer.Options{
		API: clients, ServerID: ids.Parse, Settings: loadBalancerSettings(c.config), Clock: o.clock,
		Nodes: c.Nodes(), OwnsNode: c.instances.OwnsNode,
	})
	c.loadBalancer = lbcommon.New(lbcommon.Options{
		Provider: ProviderName, Vocabulary: annotation.Vocabulary(ProviderName),
		OwnsNode: c.instances.OwnsNode, NodeAddresses: c.instances.NodeAddresses, Clock: o.clock, Nodes: c.Nodes(),
	}, loadBalancers)
	if c.config.LoadBalancer.Enabled {
		c.inventory = append(c.inventory, loadBalancers)
	}
	if c.config.Route.RouterID != "" {
		c.inventory = append(c.inventory, c.routes)
	}
}

// runtimeClusterUID returns the UID of the cluster, "" before SetRuntime.
func (c *Cloud) runtimeClusterUID() string {
	uid, _ := c.clusterUID.Load().(string)
	return uid
}

// SetRuntime implements provider.RuntimeUser.
func (c *Cloud) SetRuntime(r provider.Runtime) {
	c.clusterUID.Store(r.ClusterUID)
	c.loadBalancer.SetRuntime(r)
}

// OwnsNode implements provider.NodeOwner.
func (c *Cloud) OwnsNode(node *v1.Node) provider.Ownership { return c.instances.OwnsNode(node) }

// LoadBalancer implements cloudprovider.Interface.
func (c *Cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	if legacy := c.client.LegacyMetrics(); legacy != nil {
		return measuredBalancers{c.loadBalancer, legacy, c.clock}, c.config.LoadBalancer.Enabled
	}
	return c.loadBalancer, c.config.LoadBalancer.Enabled
}

// InstancesV2 implements cloudprovider.Interface.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.instances, true }

// Routes implements cloudprovider.Interface.
func (c *Cloud) Routes() (cloudprovider.Routes, bool) { return c.routes, c.config.Route.RouterID != "" }

// Inventory implements inventory.Provider.
func (c *Cloud) Inventory() (inventory.Lister, bool) { return c.inventory, len(c.inventory) > 0 }
