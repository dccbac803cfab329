// Package openstack is the provider of OpenStack clouds: Nova servers as nodes, Octavia load
// balancers with Neutron floating IPs, and pod routes in a Neutron router. It finds and continues
// what earlier managers of clusters on OpenStack have made, by the names and tags of package names.
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

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// ProviderName is the registry key, the scheme of provider IDs and the metric label alike. It can
// never change.
const ProviderName = names.Scheme

// envRegional is the environment variable that, with the value true, puts the region into the
// provider IDs of new nodes. Without it, managers of several regions in one cluster would take each
// other's nodes for gone.
const envRegional = "OS_CCM_REGIONAL"

func init() { provider.Register(Descriptor()) }

// Descriptor is what the provider says about itself.
func Descriptor() provider.Descriptor {
	flags := &flags{}
	return provider.Descriptor{
		Name:               ProviderName,
		Title:              "OpenStack",
		Summary:            "Nova servers as nodes, Octavia load balancers with floating IPs, and pod routes in a Neutron router.",
		Config:             configKeys(),
		Annotations:        annotation.Documentation(),
		AnnotationPrefixes: annotation.Prefixes(),
		Portable:           annotation.Portable(),
		Capabilities:       provider.Capabilities{LoadBalancer: true, InstancesV2: true, Routes: true},
		Flags:              flags.add,
		InheritedFlags:     inheritedFlags(),
		ValidateConfig:     configuration.Validate,
		ShowConfig:         configuration.Show,
		New:                func(r io.Reader) (cloudprovider.Interface, error) { return factory(r, flags) },
	}
}

// factory implements cloudprovider.Factory. The registry holds its lock meanwhile, so nothing here
// calls the network; Check does.
func factory(r io.Reader, f *flags) (cloudprovider.Interface, error) {
	cfg, file, err := configuration.From(r)
	if err != nil {
		return nil, err
	}
	return NewCloud(cfg, WithConfigFile(file), withFlags(f))
}

// balancers are the load balancers of Services.
type balancers = lbcommon.Controller[loadbalancer.SharedState, loadbalancer.Desired, loadbalancer.Observed]

// Cloud implements cloudprovider.Interface. It only hands out what NewCloud has built.
type Cloud struct {
	provider.Base

	config Config
	client *client

	loadBalancer *balancers
	instances    *instances.Instances
	routes       *routes.Routes
	clusterUID   atomic.Value
}

var (
	_ cloudprovider.Interface    = (*Cloud)(nil)
	_ cloudprovider.InformerUser = (*Cloud)(nil)
	_ provider.RuntimeUser       = (*Cloud)(nil)
	_ provider.Checker           = (*Cloud)(nil)
	_ provider.HealthReporter    = (*Cloud)(nil)
	_ provider.NodeOwner         = (*Cloud)(nil)
)

// Option changes how NewCloud builds a Cloud.
type Option func(*options)

type options struct {
	transport  http.RoundTripper
	clock      clock.WithTicker
	configFile string
	regional   bool
	flags      *flags
}

// WithTransport sends all requests through rt, those for tokens included.
func WithTransport(rt http.RoundTripper) Option { return func(o *options) { o.transport = rt } }

// WithClock sets the clock of everything but deadlines.
func WithClock(c clock.WithTicker) Option { return func(o *options) { o.clock = c } }

// WithConfigFile names the file that the configuration is from. Credentials are read again when it changes.
func WithConfigFile(name string) Option { return func(o *options) { o.configFile = name } }

func withFlags(f *flags) Option { return func(o *options) { o.flags = f } }

// NewCloud returns the provider for a valid configuration. It makes no call, but reads clouds.yaml
// where that is to be used.
func NewCloud(cfg Config, opts ...Option) (*Cloud, error) {
	o := options{clock: clock.RealClock{}, regional: os.Getenv(envRegional) == "true", flags: &flags{}}
	for _, set := range opts {
		set(&o)
	}
	complete, _, err := cfg.Global.complete()
	if err != nil {
		return nil, err
	}
	// What nodes are labelled with must not change while the manager runs.
	cfg.Global.Region = complete.Region
	if o.regional && cfg.Global.Region == "" {
		return nil, fmt.Errorf("%s = true needs region in section [%s]", envRegional, sectionGlobal)
	}
	c := &Cloud{Base: provider.NewBase(ProviderName), config: cfg}
	c.client = newClient(clientOptions{
		Global: cfg.Global, Transport: o.transport, Clock: o.clock, ConfigFile: o.configFile, UserAgent: o.flags.userAgent,
	})
	c.build(o)
	return c, nil
}

func (c *Cloud) build(o options) {
	calls, region := api.New(c.client), c.config.Global.Region
	ids := names.ProviderIDs(region)
	source := newInstanceSource(instanceSourceOptions{
		Compute: calls, Network: calls, ProviderIDs: ids, Region: region, Regional: o.regional,
		Networking: c.config.Networking, Clock: o.clock,
	})
	c.instances = instances.New(instances.Options{Provider: ProviderName, Clock: o.clock, Nodes: c.Nodes()}, source, ids)
	c.routes = newRoutes(newRouteSource(routeSourceOptions{
		Network: calls, RouterID: c.config.Route.RouterID, Ports: source.ports, Nodes: c.Nodes(), ProviderIDs: ids, Clock: o.clock,
		ClusterUID: c.knownClusterUID,
	}), c.instances)
	c.loadBalancer = lbcommon.New(lbcommon.Options{
		Provider: ProviderName, Vocabulary: annotation.Vocabulary(ProviderName),
		OwnsNode: c.instances.OwnsNode, NodeAddresses: c.instances.NodeAddresses, Clock: o.clock,
	}, loadbalancer.New(loadbalancer.Options{API: calls, ServerID: ids.Parse, Settings: c.config.balancers(), Clock: o.clock}))
}

// knownClusterUID is the cluster's UID, "" as long as it is not known.
func (c *Cloud) knownClusterUID() string {
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
	if c.client.legacy != nil {
		return measured{c.loadBalancer, c.client.legacy, c.client.options.Clock}, c.config.LoadBalancer.Enabled
	}
	return c.loadBalancer, c.config.LoadBalancer.Enabled
}

// InstancesV2 implements cloudprovider.Interface.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.instances, true }

// Routes implements cloudprovider.Interface.
func (c *Cloud) Routes() (cloudprovider.Routes, bool) {
	return c.routes, c.config.Route.RouterID != ""
}
