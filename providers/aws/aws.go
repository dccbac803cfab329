// Package aws is the provider of Amazon Web Services: EC2 instances and Fargate as nodes, network
// and classic load balancers, and pod routes in the VPC's route tables. It adopts the objects of
// other managers on AWS by the names and tags of package names.
package aws

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	commonroutes "github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/client"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/controllers"
	"github.com/unified-ccm/unified-ccm/providers/aws/environment"
	"github.com/unified-ccm/unified-ccm/providers/aws/instances"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/routes"
)

// ProviderName is the registry key, the scheme of provider IDs and the metric label. It can never
// change.
const ProviderName = names.Scheme

// connectRetry is the time after which a failed discovery of region or cluster is retried. Until then
// all callers get the same error, since an attempt may run into the timeout of the metadata service.
const connectRetry = 5 * time.Second

func init() { provider.Register(Descriptor()) }

// Descriptor describes the provider to the registry.
func Descriptor() provider.Descriptor {
	flags := &controllers.Flags{}
	return provider.Descriptor{
		Name:  ProviderName,
		Title: "Amazon Web Services",
		Summary: "EC2 instances as nodes, network and classic load balancers, and pod routes in the VPC's route " +
			"tables.",
		Config:             config.Keys(),
		Annotations:        annotation.Documentation(),
		AnnotationPrefixes: annotation.Prefixes(),
		Portable:           annotation.Portable(),
		Disruptions:        loadbalancer.Effects(),
		Capabilities:       provider.Capabilities{LoadBalancer: true, InstancesV2: true, Routes: true},
		Flags:              flags.Add,
		InheritedFlags:     controllers.InheritedFlags(),
		Controllers:        controllers.All(),
		ControllerAliases:  nodeipam.Aliases(nil),
		ValidateConfig:     config.Reader.Validate,
		ShowConfig:         config.Reader.Show,
		New:                func(r io.Reader) (cloudprovider.Interface, error) { return factory(r, flags) },
	}
}

// factory implements cloudprovider.Factory. The registry holds its lock while it runs, so it makes no
// network call; Check does.
func factory(r io.Reader, f *controllers.Flags) (cloudprovider.Interface, error) {
	cfg, _, err := config.Reader.Load(r)
	if err != nil {
		return nil, err
	}
	return NewCloud(cfg, WithFlags(f))
}

// Cloud implements cloudprovider.Interface. It discovers region, VPC and cluster with the first call
// that needs them, unless they are configured.
type Cloud struct {
	provider.Base

	config     config.Config
	client     *client.Client
	region     *snapshot.Value[string]
	connection *snapshot.Value[connection]

	loadBalancer *lbcommon.Controller
	instances    *commoninstances.Instances
	routes       *commonroutes.Routes
	inventory    inventory.Listers
	source       *instances.Source
	controllers  *controllers.Starter
}

// connection is the cluster and the clients for its region.
type connection struct {
	environment environment.Environment
	clients     *client.Clients
}

var (
	_ cloudprovider.Interface    = (*Cloud)(nil)
	_ cloudprovider.InformerUser = (*Cloud)(nil)
	_ provider.RuntimeUser       = (*Cloud)(nil)
	_ provider.Checker           = (*Cloud)(nil)
	_ provider.HealthReporter    = (*Cloud)(nil)
	_ provider.NodeOwner         = (*Cloud)(nil)
	_ provider.ControllerStarter = (*Cloud)(nil)
	_ inventory.Provider         = (*Cloud)(nil)
)

// Option changes how NewCloud builds a Cloud.
type Option func(*options)

type options struct {
	transport   http.RoundTripper
	clock       clock.WithTicker
	credentials awssdk.CredentialsProvider
	flags       *controllers.Flags
	attempts    int
}

// WithTransport sends all requests through rt, including those to the metadata service and for credentials.
func WithTransport(rt http.RoundTripper) Option { return func(o *options) { o.transport = rt } }

// WithClock sets the clock of everything but deadlines.
func WithClock(c clock.WithTicker) Option { return func(o *options) { o.clock = c } }

// WithCredentials signs all requests with p instead of the SDK's default chain.
func WithCredentials(p awssdk.CredentialsProvider) Option {
	return func(o *options) { o.credentials = p }
}

// WithFlags sets the flags of the controllers that only AWS has.
func WithFlags(f *controllers.Flags) Option { return func(o *options) { o.flags = f } }

// NewCloud returns the provider for a valid configuration. It makes no call.
func NewCloud(cfg config.Config, opts ...Option) (*Cloud, error) {
	o := options{clock: clock.RealClock{}, flags: &controllers.Flags{}}
	for _, set := range opts {
		set(&o)
	}
	topologyTypes, err := cfg.TopologyPattern()
	if err != nil {
		return nil, fmt.Errorf("SupportedTopologyInstanceTypePattern: %w", err)
	}
	c := &Cloud{Base: provider.NewBase(ProviderName), config: cfg}
	c.client = client.New(client.Options{
		Config: &c.config, Transport: o.transport, Clock: o.clock, Credentials: o.credentials, Attempts: o.attempts,
	})
	c.region = newOnce(o.clock, func(ctx context.Context) (string, error) {
		return environment.Region(ctx, &c.config, c.client.Metadata)
	})
	c.connection = newOnce(o.clock, c.connect)
	c.build(o, topologyTypes)
	return c, nil
}

// newOnce returns a value that is built by the first call that needs it.
func newOnce[T any](c clock.PassiveClock, build func(context.Context) (T, error)) *snapshot.Value[T] {
	return snapshot.NewValue(snapshot.ValueOptions[T]{Read: build, Clock: c, RetryAfter: connectRetry})
}

// build builds the implementations of the framework's interfaces.
func (c *Cloud) build(o options, topologyTypes *regexp.Regexp) {
	ids := names.ProviderIDs(c.knownRegion)
	c.source = instances.New(instances.Options{
		Connect: c.connectInstances, ProviderIDs: ids, Families: c.config.Global.NodeIPFamilies,
		TopologyTypes: topologyTypes, Clock: o.clock, Nodes: c.Nodes(),
	})
	c.instances = commoninstances.New(commoninstances.Options{
		Provider: ProviderName, Clock: o.clock, IDOfName: instances.IDOfNodeName, Nodes: c.Nodes(),
	}, c.source, ids)
	c.routes = routes.New(routes.NewSource(routes.Options{
		Connect: c.connectInstances, TableID: c.config.Global.RouteTableID, Instances: c.source, Clock: o.clock,
	}), c.instances, c.Nodes())
	lbCloud := loadbalancer.New(loadbalancer.Options{
		Connect: c.connectBalancers, InstanceID: ids.Parse, Settings: loadBalancerSettings(&c.config), Clock: o.clock,
	})
	c.loadBalancer = lbcommon.New(lbcommon.Options{
		Provider: ProviderName, Vocabulary: annotation.Vocabulary(ProviderName),
		OwnsNode: c.instances.OwnsNode, NodeAddresses: c.instances.NodeAddresses, Clock: o.clock, Nodes: c.Nodes(),
		DeferRecords: true, // one AddTags stores the records of 20 load balancers
	}, lbCloud)
	c.inventory = inventory.Listers{lbCloud, c.routes}
	c.controllers = &controllers.Starter{
		Flags: o.flags, IDs: ids, Families: c.config.Global.NodeIPFamilies, EC2: c.connectEC2, Instances: c.source,
		Clock: o.clock, Legacy: c.client.LegacyMetrics(),
	}
}

// loadBalancerSettings returns the settings of load balancers from the configuration.
func loadBalancerSettings(cfg *config.Config) loadbalancer.Settings {
	g := cfg.Global
	s := loadbalancer.Settings{
		ManagedGroups: g.NLBSecurityGroupMode == config.GroupsManaged, ClassicGroup: g.ElbSecurityGroup,
		NoNodeRules: g.DisableSecurityGroupIngress,
	}
	if g.ClusterServiceLoadBalancerHealthProbeMode == config.ProbeShared {
		s.Shared = &annotation.SharedProbe{
			Port: g.ClusterServiceSharedLoadBalancerHealthProbePort, Path: g.ClusterServiceSharedLoadBalancerHealthProbePath,
		}
	}
	return s
}

// connect discovers the cluster and makes the clients for its region.
func (c *Cloud) connect(ctx context.Context) (connection, error) {
	conn, err := c.discover(ctx)
	if ctx.Err() == nil { // a cancellation is not an error of the discovery
		c.client.SetIdentityError(err)
	}
	return conn, err
}

func (c *Cloud) discover(ctx context.Context) (connection, error) {
	region, err := c.region.Get(ctx)
	if err != nil {
		return connection{}, err
	}
	clients, err := c.client.Connect(ctx, region)
	if err != nil {
		return connection{}, err
	}
	id, err := environment.Discover(ctx, &c.config, region, clients.EC2, c.client.Metadata)
	return connection{id, clients}, err
}

// connectInstances returns the connection of nodes and routes.
func (c *Cloud) connectInstances(ctx context.Context) (instances.Connection, error) {
	conn, err := c.connection.Get(ctx)
	if err != nil {
		return instances.Connection{}, err
	}
	id := conn.environment
	scope := instances.Scope{ClusterID: id.ClusterID, VPC: id.VPC, Region: id.Region}
	return instances.Connection{EC2: conn.clients.EC2, Scope: scope}, nil
}

// connectBalancers returns the connection of load balancers.
func (c *Cloud) connectBalancers(ctx context.Context) (loadbalancer.Connection, error) {
	conn, err := c.connection.Get(ctx)
	if err != nil {
		return loadbalancer.Connection{}, err
	}
	id := conn.environment
	return loadbalancer.Connection{
		EC2: conn.clients.EC2, ELB: conn.clients.ELB, ELBV2: conn.clients.ELBV2,
		VPC: id.VPC, Cluster: vpc.Cluster{ID: id.ClusterID, Legacy: id.LegacyTag}, FallbackSubnet: id.Subnet,
		Instances: c.source,
	}, nil
}

// connectEC2 returns the client of EC2.
func (c *Cloud) connectEC2(ctx context.Context) (api.EC2, error) {
	conn, err := c.connection.Get(ctx)
	if err != nil {
		return nil, err
	}
	return conn.clients.EC2, nil
}

// knownRegion returns the region if it is known without a call, else "".
func (c *Cloud) knownRegion() string {
	if region := c.config.Region(); region != "" {
		return region
	}
	region, _ := c.region.Peek()
	return region
}

// Check implements provider.Checker. It discovers the cluster and verifies the credentials.
func (c *Cloud) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, client.CallTimeout)
	defer cancel()
	conn, err := c.connection.Get(ctx)
	if err != nil {
		return err
	}
	return c.client.Check(ctx, conn.clients)
}

// Health implements provider.HealthReporter.
func (c *Cloud) Health() []provider.PartHealth { return c.client.Health() }

// Initialize implements cloudprovider.Interface. It starts the writer of deferred applied records.
func (c *Cloud) Initialize(_ cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	go c.loadBalancer.Run(wait.ContextForChannel(stop))
}

// SetRuntime implements provider.RuntimeUser.
func (c *Cloud) SetRuntime(r provider.Runtime) { c.loadBalancer.SetRuntime(r) }

// StartController implements provider.ControllerStarter.
func (c *Cloud) StartController(ctx context.Context, name string, cc provider.ControllerContext) (bool, error) {
	return c.controllers.StartController(ctx, name, cc)
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
