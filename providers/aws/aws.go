// Package aws is the provider of Amazon Web Services: EC2 instances and Fargate as nodes, network
// and classic load balancers, and pod routes in the VPC's route tables. It finds and continues
// what earlier managers of clusters on AWS have made, by the names and tags of package names.
package aws

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// ProviderName is the registry key, the scheme of provider IDs and the metric label alike. It can
// never change.
const ProviderName = names.Scheme

func init() { provider.Register(Descriptor()) }

// Descriptor is what the provider says about itself.
func Descriptor() provider.Descriptor {
	flags := &flags{}
	return provider.Descriptor{
		Name:               ProviderName,
		Title:              "Amazon Web Services",
		Summary:            "EC2 instances as nodes, network and classic load balancers, and pod routes in the VPC's route tables.",
		Config:             configKeys(),
		Annotations:        annotation.Documentation(),
		AnnotationPrefixes: annotation.Prefixes(),
		Portable:           annotation.Portable(),
		Capabilities:       provider.Capabilities{LoadBalancer: true, InstancesV2: true, Routes: true},
		Flags:              flags.add,
		InheritedFlags:     inheritedFlags(),
		Controllers:        controllers(),
		ValidateConfig:     configuration.Validate,
		ShowConfig:         configuration.Show,
		New:                func(r io.Reader) (cloudprovider.Interface, error) { return factory(r, flags) },
	}
}

// factory implements cloudprovider.Factory. The registry holds its lock meanwhile, so nothing here
// calls the network; Check does.
func factory(r io.Reader, f *flags) (cloudprovider.Interface, error) {
	cfg, _, err := configuration.From(r)
	if err != nil {
		return nil, err
	}
	return NewCloud(cfg, withFlags(f))
}

// balancers are the load balancers of Services.
type balancers = lbcommon.Controller[loadbalancer.SharedState, loadbalancer.Desired, loadbalancer.Observed]

// Cloud implements cloudprovider.Interface. It only hands out what NewCloud has built. Which
// region, VPC and cluster it is about may be known only when the first call is made.
type Cloud struct {
	provider.Base

	config     Config
	connection *connection
	region     *snapshot.Value[string]
	parts      *snapshot.Value[*parts]

	loadBalancer *balancers
	instances    *instances.Instances
	routes       *routes.Routes
	controllers  *nodeControllers
}

// parts are what needs to know the region, the VPC and the cluster.
type parts struct {
	identity  identity
	clients   *clients
	instances *instanceSource
	routes    *routeSource
}

var (
	_ cloudprovider.Interface    = (*Cloud)(nil)
	_ cloudprovider.InformerUser = (*Cloud)(nil)
	_ provider.RuntimeUser       = (*Cloud)(nil)
	_ provider.Checker           = (*Cloud)(nil)
	_ provider.HealthReporter    = (*Cloud)(nil)
	_ provider.NodeOwner         = (*Cloud)(nil)
	_ provider.ControllerStarter = (*Cloud)(nil)
)

// Option changes how NewCloud builds a Cloud.
type Option func(*options)

type options struct {
	transport   http.RoundTripper
	clock       clock.WithTicker
	credentials awssdk.CredentialsProvider
	flags       *flags
}

// WithTransport sends all requests through rt, those to the metadata service and for credentials included.
func WithTransport(rt http.RoundTripper) Option { return func(o *options) { o.transport = rt } }

// WithClock sets the clock of everything but deadlines.
func WithClock(c clock.WithTicker) Option { return func(o *options) { o.clock = c } }

// WithCredentials signs all requests with p instead of what the SDK's default chain finds.
func WithCredentials(p awssdk.CredentialsProvider) Option {
	return func(o *options) { o.credentials = p }
}

func withFlags(f *flags) Option { return func(o *options) { o.flags = f } }

// NewCloud returns the provider for a valid configuration. It makes no call.
func NewCloud(cfg Config, opts ...Option) (*Cloud, error) {
	o := options{clock: clock.RealClock{}, flags: &flags{}}
	for _, set := range opts {
		set(&o)
	}
	topologyTypes, err := cfg.topologyPattern()
	if err != nil {
		return nil, fmt.Errorf("SupportedTopologyInstanceTypePattern: %w", err)
	}
	c := &Cloud{Base: provider.NewBase(ProviderName), config: cfg}
	c.connection = newConnection(connectionOptions{
		Config: &c.config, Transport: o.transport, Clock: o.clock, Credentials: o.credentials,
	})
	c.build(o, topologyTypes)
	return c, nil
}

func (c *Cloud) build(o options, topologyTypes *regexp.Regexp) {
	ids := names.ProviderIDs(c.knownRegion)
	c.region = newOnce(o.clock, func(ctx context.Context) (string, error) {
		return regionOf(ctx, &c.config, c.connection.metadata)
	})
	c.parts = newOnce(o.clock, func(ctx context.Context) (*parts, error) {
		p, err := c.connect(ctx)
		if ctx.Err() == nil { // else it says nothing
			c.connection.health.Set(needIdentity, err)
		}
		if err != nil {
			return nil, err
		}
		in := scope{ClusterID: p.identity.ClusterID, VPC: p.identity.VPC, Region: p.identity.Region}
		p.instances = newInstanceSource(instanceSourceOptions{
			EC2: p.clients.ec2, Scope: func(context.Context) (scope, error) { return in, nil }, ProviderIDs: ids,
			Families: c.config.Global.NodeIPFamilies, TopologyTypes: topologyTypes, Clock: o.clock, Nodes: c.Nodes(),
		})
		p.routes = newRouteSource(routeSourceOptions{TableID: c.config.Global.RouteTableID, Instances: p.instances})
		return p, nil
	})
	c.instances = instances.New(instances.Options{Provider: ProviderName, Clock: o.clock, IDOfName: idOfName, Nodes: c.Nodes()}, lateInstances{c.parts}, ids)
	c.routes = newRoutes(lateRoutes{c.parts}, c.instances, c.Nodes())
	balancing := loadbalancer.New(loadbalancer.Options{Connect: c.connectBalancers, InstanceID: ids.Parse, Settings: c.config.balancers(), Clock: o.clock})
	c.loadBalancer = lbcommon.New(lbcommon.Options{
		Provider: ProviderName, Vocabulary: annotation.Vocabulary(ProviderName),
		OwnsNode: c.instances.OwnsNode, NodeAddresses: c.instances.NodeAddresses, Clock: o.clock,
	}, balancing)
	c.controllers = &nodeControllers{
		flags: o.flags, ids: ids, families: c.config.Global.NodeIPFamilies, clock: o.clock, ec2: c.connectEC2, described: c.describer,
		legacy: c.connection.legacy,
	}
}

// connectBalancers is what load balancers need to know about the cluster.
func (c *Cloud) connectBalancers(ctx context.Context) (loadbalancer.Connection, error) {
	p, err := c.parts.Get(ctx)
	if err != nil {
		return loadbalancer.Connection{}, err
	}
	return loadbalancer.Connection{
		EC2: p.clients.ec2, ELB: p.clients.elb, ELBV2: p.clients.elbv2,
		VPC: p.identity.VPC, Cluster: vpc.Cluster{ID: p.identity.ClusterID, Legacy: p.identity.Legacy}, FallbackSubnet: p.identity.Subnet,
		Instances: p.instances,
	}, nil
}

// connect finds out which cluster it is and makes the clients.
func (c *Cloud) connect(ctx context.Context) (*parts, error) {
	region, err := c.region.Get(ctx)
	if err != nil {
		return nil, err
	}
	clients, err := c.connection.connect(ctx, region)
	if err != nil {
		return nil, err
	}
	id, err := identify(ctx, &c.config, region, clients.ec2, c.connection.metadata)
	if err != nil {
		return nil, err
	}
	return &parts{identity: id, clients: clients}, nil
}

// knownRegion is the region as far as it is known without a call, "" if it is not.
func (c *Cloud) knownRegion() string {
	if region := c.config.region(); region != "" {
		return region
	}
	region, _ := c.region.Peek()
	return region
}

// SetRuntime implements provider.RuntimeUser.
func (c *Cloud) SetRuntime(r provider.Runtime) {
	c.loadBalancer.SetRuntime(r)
}

// OwnsNode implements provider.NodeOwner.
func (c *Cloud) OwnsNode(node *v1.Node) provider.Ownership { return c.instances.OwnsNode(node) }

// LoadBalancer implements cloudprovider.Interface.
func (c *Cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c.loadBalancer, true }

// InstancesV2 implements cloudprovider.Interface.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.instances, true }

// Routes implements cloudprovider.Interface.
func (c *Cloud) Routes() (cloudprovider.Routes, bool) { return c.routes, true }
