// Package gce is the provider of Google Compute Engine: instances as nodes, load balancers of target pools and of
// regional backend services, and routes of the network. It replaces the manager of cloud-provider-gcp.
package gce

import (
	"context"
	"fmt"
	"io"
	"net/http"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/client"
	"github.com/unified-ccm/unified-ccm/providers/gce/clusterid"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/controllers"
	"github.com/unified-ccm/unified-ccm/providers/gce/instances"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/handover"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
	gceroutes "github.com/unified-ccm/unified-ccm/providers/gce/routes"
)

// ProviderName is the registry key, the scheme of provider IDs and the metric label. It can never change.
const ProviderName = names.Scheme

func init() { provider.Register(Descriptor()) }

// Descriptor describes the provider to the registry.
func Descriptor() provider.Descriptor {
	flags := newFlags()
	return provider.Descriptor{
		Name:  ProviderName,
		Title: "Google Compute Engine",
		Summary: "Instances of a project as nodes, external and internal load balancers, and routes. Service load " +
			"balancers " +
			"of ingress-gce stay with it.",
		Config:             config.Keys(),
		Annotations:        annotation.Documentation(),
		AnnotationPrefixes: annotation.Prefixes(),
		Portable:           annotation.Portable(),
		Disruptions:        loadbalancer.Effects(),
		Capabilities:       provider.Capabilities{InstancesV2: true, LoadBalancer: true, Routes: true},
		Flags:              flags.add,
		InheritedFlags:     inheritedFlags(),
		Controllers:        controllers.All(),
		ControllerAliases:  controllers.Aliases(),
		AllocatesRanges:    true,
		KubeRules:          clusterid.KubeRules(),
		ValidateConfig:     config.Reader.Validate,
		ShowConfig:         config.Reader.Show,
		New:                func(r io.Reader) (cloudprovider.Interface, error) { return factory(r, flags) },
	}
}

// factory implements cloudprovider.Factory. The registry holds its lock while it runs, so it makes no network call;
// Check does.
func factory(r io.Reader, f *flags) (cloudprovider.Interface, error) {
	if err := f.validate(); err != nil {
		return nil, err
	}
	cfg, _, err := config.Reader.Load(r)
	if err != nil {
		return nil, err
	}
	return NewCloud(cfg, withAnnotations(f.annotations)), nil
}

// Cloud implements cloudprovider.Interface. It returns the values that NewCloud has built.
type Cloud struct {
	provider.Base

	client       *client.Client
	clusterID    *clusterid.Reader
	instances    *commoninstances.Instances
	loadBalancer *handover.Controller
	routes       *routes.Routes
	inventory    inventory.Listers
	controllers  controllers.Starter
}

var (
	_ cloudprovider.Interface    = (*Cloud)(nil)
	_ cloudprovider.InformerUser = (*Cloud)(nil)
	_ inventory.Provider         = (*Cloud)(nil)
	_ provider.RuntimeUser       = (*Cloud)(nil)
	_ provider.Checker           = (*Cloud)(nil)
	_ provider.ControllerStarter = (*Cloud)(nil)
	_ provider.HealthReporter    = (*Cloud)(nil)
	_ provider.NodeOwner         = (*Cloud)(nil)
)

// Option changes how NewCloud builds a Cloud.
type Option func(*options)

type options struct {
	transport   http.RoundTripper
	clock       clock.WithTicker
	clusterID   func(context.Context) (string, error)
	annotations bool
	retry       cloudapi.Retry
}

// WithTransport sends all requests through rt, without credentials.
func WithTransport(rt http.RoundTripper) Option { return func(o *options) { o.transport = rt } }

// WithClock sets the clock of everything but deadlines.
func WithClock(c clock.WithTicker) Option { return func(o *options) { o.clock = c } }

// WithClusterID sets the ID of the cluster, which is read from the cluster otherwise.
func WithClusterID(id string) Option {
	return func(o *options) { o.clusterID = func(context.Context) (string, error) { return id, nil } }
}

// withAnnotations makes the manager write the names of objects into annotations of Services.
func withAnnotations(enabled bool) Option { return func(o *options) { o.annotations = enabled } }

// NewCloud returns the provider for a valid configuration. It makes no call.
func NewCloud(cfg config.Config, opts ...Option) *Cloud {
	o := options{clock: clock.RealClock{}}
	for _, set := range opts {
		set(&o)
	}
	c := &Cloud{Base: provider.NewBase(ProviderName), clusterID: clusterid.New(o.clock)}
	if o.clusterID == nil {
		o.clusterID = c.clusterID.Get
	}
	c.client = client.New(client.Options{Config: cfg.Global, Transport: o.transport, Clock: o.clock, Retry: o.retry})
	ids := names.NewProviderIDs(c.project)
	source := instances.New(instances.Options{API: c.client, IDs: ids, Config: cfg.Global, Clock: o.clock})
	c.instances = commoninstances.New(commoninstances.Options{
		Provider: ProviderName, Clock: o.clock, Nodes: c.Nodes(),
	}, source, ids)
	c.routes = routes.New(routes.Options{Provider: ProviderName, Nodes: c.Nodes()}, &gceroutes.Source{API: c.client},
		c.instances)
	loadBalancers := loadbalancer.New(loadbalancer.Options{
		API: c.client, Config: cfg.Global, ClusterID: o.clusterID, InstanceID: ids.Parse, NodeTags: source.NodeTags,
		Annotate: o.annotations, Clock: o.clock,
	})
	controller := lbcommon.New(lbcommon.Options{
		Provider: ProviderName, Vocabulary: annotation.Vocabulary(ProviderName), OwnsNode: c.ownsMember,
		Nodes: c.Nodes(), Clock: o.clock,
	}, loadBalancers)
	c.loadBalancer = &handover.Controller{Controller: controller, Scheme: loadBalancers.Scheme,
		Subsets: cfg.Global.Has(config.FeatureSubsets)}
	c.inventory = inventory.Listers{loadBalancers, c.routes}
	c.controllers = controllers.Starter{Instances: source, IDs: ids, PodRange: cfg.Global.SecondaryRangeName}
	return c
}

// project returns the project of the nodes; "" until it is known.
func (c *Cloud) project() string {
	e, _ := c.client.KnownEnvironment()
	return e.Project
}

// SetRuntime implements provider.RuntimeUser.
func (c *Cloud) SetRuntime(r provider.Runtime) {
	c.loadBalancer.SetRuntime(r)
	c.clusterID.SetRuntime(r)
}

// checkTimeout bounds Check: a manager that cannot reach its cloud reports that soon.
const checkTimeout = client.CallTimeout

// Check implements provider.Checker: it reads the zones, which verifies that the cloud is reachable, accepts the
// credentials, and has the zone of the manager.
func (c *Cloud) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	e, err := c.client.Environment(ctx)
	if err != nil {
		return err
	}
	documents, err := c.client.List(ctx, api.ZonesList, api.Target{}, nil)
	if cloudapi.Is(err, cloudapi.Denied) {
		return &cloudapi.Error{Class: cloudapi.Denied, Operation: api.ZonesList.String(),
			Err: fmt.Errorf("project %s does not let the service account read its zones: give it the role of deploy/gce, or "+
				"correct token-url in section [global]: %w", e.Project, cloudapi.CauseOf(err))}
	}
	if err != nil {
		return err
	}
	zones, err := api.ParseAll[api.ZoneResource](documents)
	if err != nil {
		return &cloudapi.Error{Class: cloudapi.Unknown, Operation: api.ZonesList.String(), Err: err}
	}
	for _, zone := range zones {
		if zone.Name == e.Zone {
			return nil
		}
	}
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: api.ZonesList.String(),
		Err: fmt.Errorf("local-zone in section [global] is %s, and the project %s has no such zone", e.Zone, e.Project)}
}

// Health implements provider.HealthReporter.
func (c *Cloud) Health() []provider.PartHealth {
	since, err := c.client.Health()
	parts := make([]provider.PartHealth, 0, 3)
	for _, part := range []string{provider.PartNodes, provider.PartLoadBalancers, provider.PartRoutes} {
		parts = append(parts, provider.PartHealth{Part: part, Since: since, Err: err})
	}
	return parts
}

// StartController implements provider.ControllerStarter.
func (c *Cloud) StartController(ctx context.Context, name string, cc provider.ControllerContext) (bool, error) {
	return c.controllers.StartController(ctx, name, cc)
}

// unmanagedLabel with the value true marks nodes that the controllers of GKE leave alone.
const unmanagedLabel = "components.gke.io/gke-unmanaged-node"

// OwnsNode implements provider.NodeOwner. A node that is labeled as unmanaged counts as one of another cloud. Kubelets
// may write that label, as they may the opt-out label of this manager: it only ends what is done for a node.
func (c *Cloud) OwnsNode(node *v1.Node) provider.Ownership {
	if node.Labels[unmanagedLabel] == "true" {
		return provider.Foreign
	}
	return c.instances.OwnsNode(node)
}

// ownsMember classifies nodes for load balancers. Those without a provider ID may be members, which stay.
func (c *Cloud) ownsMember(node *v1.Node) provider.Ownership {
	if node.Spec.ProviderID == "" {
		return provider.Mine
	}
	return c.instances.OwnsNode(node)
}

// LoadBalancer implements cloudprovider.Interface.
func (c *Cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c.loadBalancer, true }

// InstancesV2 implements cloudprovider.Interface.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.instances, true }

// Routes implements cloudprovider.Interface.
func (c *Cloud) Routes() (cloudprovider.Routes, bool) { return c.routes, true }

// Inventory implements inventory.Provider.
func (c *Cloud) Inventory() (inventory.Lister, bool) { return c.inventory, true }
