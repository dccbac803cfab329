// Package vsphere is the provider of vSphere: virtual machines of one or more vCenters as nodes, and load balancers and
// routes by NSX-T. It reads from vCenters and never writes to them.
package vsphere

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/version"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/client"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/instances"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
	vsphereroutes "github.com/unified-ccm/unified-ccm/providers/vsphere/routes"
)

// ProviderName is the registry key, the scheme of provider IDs and the metric label. It can never change.
const ProviderName = names.Scheme

// logoutTimeout bounds the end of all sessions when the manager stops. They end by themselves otherwise.
const logoutTimeout = 3 * time.Second

func init() { provider.Register(Descriptor()) }

// Descriptor describes the provider to the registry.
func Descriptor() provider.Descriptor {
	flags := &flags{}
	return provider.Descriptor{
		Name:  ProviderName,
		Title: "VMware vSphere",
		Summary: "Virtual machines of one or more vCenters as nodes, with regions and zones from tags; load balancers and " +
			"routes by NSX-T, if they are configured.",
		Config:             config.Keys(),
		Annotations:        annotation.Documentation(),
		AnnotationPrefixes: annotation.Prefixes(),
		Portable:           annotation.Portable(),
		Disruptions:        loadbalancer.Effects(),
		Capabilities:       provider.Capabilities{InstancesV2: true, LoadBalancer: true, Routes: true},
		Flags:              flags.add,
		InheritedFlags:     inheritedFlags(),
		Controllers:        []provider.Controller{nodeipam.Controller(true)},
		ControllerAliases:  nodeipam.Aliases(nil),
		AllocatesRanges:    true,
		ValidateConfig:     config.Reader.Validate,
		ShowConfig:         config.Show,
		ConvertConfig:      config.Convert,
		New:                func(r io.Reader) (cloudprovider.Interface, error) { return factory(r, flags) },
	}
}

// factory implements cloudprovider.Factory. The registry holds its lock while it runs, so it makes no network call;
// Check does.
func factory(r io.Reader, f *flags) (cloudprovider.Interface, error) {
	cfg, file, err := config.Reader.Load(r)
	if err != nil {
		return nil, err
	}
	labels, err := f.labels()
	if err != nil {
		return nil, err
	}
	return NewCloud(cfg, WithConfigFile(file), withLabels(labels))
}

// nodeInstances is the part of the provider that the framework calls.
type nodeInstances interface {
	cloudprovider.InstancesV2
	provider.NodeOwner
	NodeAddresses(ctx context.Context, node *v1.Node) ([]v1.NodeAddress, error)
}

// Cloud implements cloudprovider.Interface.
type Cloud struct {
	provider.Base
	nodeipam.Starter

	clients   []*client.Client
	secrets   *client.Secrets
	instances nodeInstances
	// nsxt, loadBalancer and routes are nil if they are not configured.
	nsxt         *client.Policy
	loadBalancer *lbcommon.Controller
	routes       *routes.Routes
	inventory    inventory.Listers
	clusterUID   atomic.Pointer[string]
}

var (
	_ provider.RuntimeUser       = (*Cloud)(nil)
	_ inventory.Provider         = (*Cloud)(nil)
	_ cloudprovider.Interface    = (*Cloud)(nil)
	_ cloudprovider.InformerUser = (*Cloud)(nil)
	_ provider.Checker           = (*Cloud)(nil)
	_ provider.HealthReporter    = (*Cloud)(nil)
	_ provider.ControllerStarter = (*Cloud)(nil)
	_ provider.NodeOwner         = (*Cloud)(nil)
	_ provider.Stopper           = (*Cloud)(nil)
)

// Option changes how NewCloud builds a Cloud.
type Option func(*options)

type options struct {
	transport  func(server string) http.RoundTripper
	clock      clock.WithTicker
	configFile string
	labels     map[string]string
	retry      cloudapi.Retry
}

// WithTransport sends all requests to a vCenter through the round tripper that the function returns for it.
func WithTransport(transport func(server string) http.RoundTripper) Option {
	return func(o *options) { o.transport = transport }
}

// WithClock sets the clock of everything but deadlines.
func WithClock(c clock.WithTicker) Option { return func(o *options) { o.clock = c } }

// WithConfigFile sets the file that the configuration was read from. Credentials are read from it again at each
// login.
func WithConfigFile(name string) Option { return func(o *options) { o.configFile = name } }

// withLabels sets additional labels of nodes.
func withLabels(labels map[string]string) Option { return func(o *options) { o.labels = labels } }

// NewCloud returns the provider for a valid configuration. It makes no call.
func NewCloud(cfg config.Config, opts ...Option) (*Cloud, error) {
	o := options{clock: clock.RealClock{}}
	for _, apply := range opts {
		apply(&o)
	}
	if len(cfg.VCenters) == 0 {
		return nil, errors.New("the configuration has no vCenter")
	}
	c := &Cloud{Base: provider.NewBase(ProviderName), secrets: &client.Secrets{}}
	ids := names.NewProviderIDs()
	var members []commoninstances.Member
	for _, v := range cfg.VCenters {
		clientOptions := client.Options{
			VCenter: v, Clock: o.clock, Retry: o.retry, UserAgent: "unified-ccm/" + version.Get().GitVersion,
			Credentials: client.NewCredentials(v, o.configFile, c.secrets),
		}
		if o.transport != nil {
			clientOptions.Transport = o.transport(v.Server)
		}
		vcenter := client.New(clientOptions)
		c.clients = append(c.clients, vcenter)
		source := instances.NewSource(instances.Options{
			Name: v.Name, API: vcenter, Datacenters: v.Datacenters,
			Addresses: instances.AddressRules{Families: v.Families, Addresses: cfg.Addresses},
			Region:    cfg.Region, Zone: cfg.Zone, Labels: o.labels, KeepDeleted: cfg.KeepDeleted, Clock: o.clock,
			Nodes: c.Nodes(),
		})
		instancesOptions := commoninstances.Options{Provider: ProviderName, Clock: o.clock, Nodes: c.Nodes()}
		members = append(members, commoninstances.Member{
			Name: "vCenter " + v.Name, Instances: commoninstances.New(instancesOptions, source, ids),
		})
	}
	c.instances = members[0].Instances
	if len(members) > 1 {
		c.instances = commoninstances.NewFederation(members...)
	}
	return c, c.buildNSXT(cfg, o, ids)
}

// buildNSXT builds the load balancers and routes that are configured.
func (c *Cloud) buildNSXT(cfg config.Config, o options, ids names.ProviderIDs) error {
	if cfg.NSXT == nil {
		return nil
	}
	policyOptions := client.PolicyOptions{
		NSX: *cfg.NSXT, Secrets: c.secrets, Clock: o.clock, Retry: o.retry,
		UserAgent: "unified-ccm/" + version.Get().GitVersion,
	}
	if o.transport != nil {
		policyOptions.Transport = o.transport(cfg.NSXT.Host)
	}
	var err error
	if c.nsxt, err = client.NewPolicy(policyOptions); err != nil {
		return err
	}
	if cfg.LoadBalancer != nil {
		loadBalancers := loadbalancer.New(c.nsxt, *cfg.LoadBalancer, o.clock)
		c.loadBalancer = lbcommon.New(lbcommon.Options{
			Provider: ProviderName, Vocabulary: annotation.Vocabulary(ProviderName), OwnsNode: c.instances.OwnsNode,
			NodeAddresses: c.instances.NodeAddresses, Nodes: c.Nodes(), Clock: o.clock,
		}, loadBalancers)
		c.inventory = append(c.inventory, loadBalancers)
	}
	if cfg.RouterPath != "" {
		targets := vsphereroutes.Targets{Instances: c.instances, Nodes: c.Nodes(), InstanceID: ids.Parse}
		o := routes.Options{Provider: ProviderName, Nodes: c.Nodes()}
		c.routes = routes.New(o, vsphereroutes.NewSource(vsphereroutes.Options{
			API: c.nsxt, RouterPath: cfg.RouterPath, Nodes: c.Nodes(), Targets: targets,
			ClusterUID: func() string {
				if uid := c.clusterUID.Load(); uid != nil {
					return *uid
				}
				return ""
			},
		}), targets)
		c.inventory = append(c.inventory, c.routes)
	}
	return nil
}

// SetRuntime implements provider.RuntimeUser.
func (c *Cloud) SetRuntime(r provider.Runtime) {
	c.clusterUID.Store(&r.ClusterUID)
	if c.loadBalancer != nil {
		c.loadBalancer.SetRuntime(r)
	}
}

// Inventory implements inventory.Provider.
func (c *Cloud) Inventory() (inventory.Lister, bool) { return c.inventory, len(c.inventory) > 0 }

// Initialize implements cloudprovider.Interface. The Secrets with credentials are read with the manager's own client.
func (c *Cloud) Initialize(builder cloudprovider.ControllerClientBuilder, _ <-chan struct{}) {
	if builder != nil {
		c.secrets.SetClient(builder.ClientOrDie("vsphere-credentials"))
	}
}

// Stop implements provider.Stopper. It ends the sessions of the vCenters; requests to NSX-T have none.
func (c *Cloud) Stop(ctx context.Context) {
	// Sessions end even if calls in flight have used up the time of ctx.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutTimeout)
	defer cancel()
	var logouts panics.Group
	for _, vcenter := range c.clients {
		logouts.Go(func() error { vcenter.Logout(ctx); return nil })
	}
	_ = logouts.Wait()
}

// InstancesV2 implements cloudprovider.Interface.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.instances, true }

// LoadBalancer implements cloudprovider.Interface. Without NSX-T there are no load balancers: those of the Kubernetes
// operator of NSX Advanced Load Balancer stay as they are.
func (c *Cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	if c.loadBalancer == nil {
		return nil, false
	}
	return c.loadBalancer, true
}

// Routes implements cloudprovider.Interface.
func (c *Cloud) Routes() (cloudprovider.Routes, bool) {
	if c.routes == nil {
		return nil, false
	}
	return c.routes, true
}

// OwnsNode implements provider.NodeOwner.
func (c *Cloud) OwnsNode(node *v1.Node) provider.Ownership { return c.instances.OwnsNode(node) }

// Check implements provider.Checker. One vCenter that accepts the credentials is enough to start: the others may
// recover, and their error has a class that does not end the manager. Nodes do not need NSX-T.
func (c *Cloud) Check(ctx context.Context) error {
	results := make(chan error, len(c.clients))
	for _, vcenter := range c.clients {
		go func() { results <- panics.Do(func() error { return vcenter.Check(ctx) }) }()
	}
	var errs []error
	for range c.clients {
		if err := <-results; err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == len(c.clients) {
		return errors.Join(errs...)
	}
	if c.nsxt != nil {
		errs = append(errs, c.nsxt.Check(ctx))
	}
	if err := errors.Join(errs...); err == nil {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "Login", Err: errors.Join(errs...)}
}

// Health implements provider.HealthReporter.
func (c *Cloud) Health() []provider.PartHealth {
	nodes := provider.PartHealth{Part: provider.PartNodes}
	for _, vcenter := range c.clients {
		if since, err := vcenter.Health(); err != nil && nodes.Err == nil {
			nodes.Since, nodes.Err = since, err
		}
	}
	parts := []provider.PartHealth{nodes}
	for part, enabled := range map[string]bool{
		provider.PartLoadBalancers: c.loadBalancer != nil, provider.PartRoutes: c.routes != nil,
	} {
		if enabled {
			since, err := c.nsxt.Health()
			parts = append(parts, provider.PartHealth{Part: part, Since: since, Err: err})
		}
	}
	return parts
}
