package ccmapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/assign"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/kube"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
)

// concurrentPlans is the number of concurrent plans: as many as the manager has workers.
const concurrentPlans = concurrentSyncs

// planner computes plans with a provider that is initialized like the manager's.
type planner struct {
	options planOptions
	// source is the cloud, and choice selects its Services.
	source cloudSource
	choice assign.Choice
	// client is nil without a cluster.
	client kubernetes.Interface
	// clusterUID is the UID of the namespace kube-system; empty without a cluster.
	clusterUID string
	cloud      cloudprovider.Interface
	err        io.Writer
	// applies is set if the command also applies changes.
	applies bool
}

// newPlanners returns a planner for each cloud. Unless they apply changes, the providers are in dry run.
func newPlanners(ctx context.Context, o planOptions, errOut io.Writer, applies bool) ([]*planner, error) {
	// Log output of libraries would appear within the plan, or break the JSON.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	sources, err := o.clouds()
	if err != nil {
		return nil, err
	}
	configs, err := loadConfigs(sources)
	if err != nil {
		return nil, err
	}
	for _, config := range configs {
		for _, w := range config.warnings {
			printNote(errOut, "%s", w)
		}
	}
	choice := assign.Choice{Default: cmp.Or(o.defaultProvider, sources[0].Name), Classes: o.classes}
	for _, source := range sources {
		choice.Clouds = append(choice.Clouds, source.Name)
	}
	var all []*planner
	for _, source := range sources {
		p, err := newPlanner(ctx, o, source, choice, errOut, applies)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func newPlanner(ctx context.Context, o planOptions, source cloudSource, choice assign.Choice, errOut io.Writer,
	applies bool) (*planner, error) {
	p := &planner{options: o, source: source, choice: choice, err: errOut, applies: applies}
	if err := p.connect(ctx); err != nil {
		return nil, err
	}
	cloud, err := source.construct()
	if err != nil {
		return nil, err
	}
	if err := p.initialize(ctx, cloud); err != nil {
		return nil, err
	}
	p.cloud = guard.Wrap(cloud, guard.Options{DryRun: !applies})
	return p, p.startInformers(ctx)
}

// connect connects to the cluster. A plan from files does not need one.
func (p *planner) connect(ctx context.Context) error {
	config, err := p.options.restConfig()
	if errors.Is(err, errNoCluster) && len(p.options.files) > 0 {
		return nil
	}
	if err != nil {
		return err
	}
	config.QPS, config.Burst = kubeAPIQPS, kubeAPIBurst
	server := apiServer{clock: clock.RealClock{}, wait: apiServerWait, pause: apiServerPause}
	if _, err := server.reach(ctx, config, p.options.source); err != nil {
		return err
	}
	p.client, err = kubernetes.NewForConfig(config)
	return err
}

// initialize initializes the provider like the manager: with the cluster's UID, which identifies its own objects.
// Its Events are discarded: a plan reports by its text.
func (p *planner) initialize(ctx context.Context, cloud cloudprovider.Interface) error {
	user, ok := cloud.(provider.RuntimeUser)
	if !ok {
		return nil
	}
	runtime := provider.Runtime{Recorder: &record.FakeRecorder{}, DryRun: !p.applies, Disruption: p.options.disruption}
	if p.client != nil {
		namespace, err := p.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		if err != nil {
			return cli.EnvironmentErrorf("the cluster's UID cannot be read, and without it other clusters' objects look like "+
				"our own: %v", err)
		}
		p.clusterUID = string(namespace.UID)
		runtime.ClusterUID = p.clusterUID
		runtime.ConfigMap = kube.NewConfigMaps(p.client, true)
	}
	runtime.Approvals = kube.NewApprovals(p.client, p.options.approvals, true)
	user.SetRuntime(runtime)
	return nil
}

// startInformers passes the synced informers to the provider.
func (p *planner) startInformers(ctx context.Context) error {
	user, ok := p.cloud.(cloudprovider.InformerUser)
	if !ok || p.client == nil {
		return nil
	}
	factory := informers.NewSharedInformerFactory(p.client, 0)
	user.SetInformers(factory)
	factory.Start(ctx.Done())
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return cli.EnvironmentErrorf("the list of %v cannot be read from the cluster", kind)
		}
	}
	return nil
}

// planInput is the input of plans.
type planInput struct {
	// services are those that the manager works on, as it sees them: Classes.Select is not idempotent.
	services []*v1.Service
	// live are the cluster's Services that services from files would replace, by UID.
	live   map[types.UID]*v1.Service
	nodes  []*v1.Node
	routes bool
	// skipped are the kinds of a file's other objects.
	skipped []string
}

// plan computes the plans, in the order of the input. failed has a line for each that could not be computed.
func (p *planner) plan(ctx context.Context, input planInput) (plans []plan.Plan, failed []string) {
	balancer, ok := p.cloud.LoadBalancer()
	lbPlanner, canPlan := balancer.(loadbalancer.Planner)
	if len(input.services) > 0 && (!ok || !canPlan) {
		failed = append(failed, p.source.Title+" cannot plan load balancers")
		input.services = nil
	}
	results, errs := p.planServices(ctx, lbPlanner, input)
	for i, err := range errs {
		if err != nil {
			failed = append(failed, withSubject(intent.Subject(input.services[i]), err))
			continue
		}
		plans = append(plans, results[i])
	}
	if input.routes {
		plans, failed = p.planRoutes(ctx, input.nodes, plans, failed)
	}
	return plans, failed
}

// planServices returns the plan or the error of each Service.
func (p *planner) planServices(ctx context.Context, lbPlanner loadbalancer.Planner,
	input planInput) ([]plan.Plan, []error) {
	results := make([]plan.Plan, len(input.services))
	errs := make([]error, len(input.services))
	var group errgroup.Group
	group.SetLimit(concurrentPlans)
	for i, service := range input.services {
		group.Go(func() error {
			nodes, o := input.nodes, loadbalancer.PlanOptions{}
			if !loadbalancer.WantsLoadBalancer(service) {
				nodes, o.Remove = nil, true
			}
			if live, ok := input.live[service.UID]; ok {
				if live = p.selected(live); loadbalancer.WantsLoadBalancer(live) {
					o.Live = live
				}
			}
			results[i], errs[i] = lbPlanner.PlanLoadBalancer(ctx, p.options.clusterName, service, nodes, o)
			return nil
		})
	}
	_ = group.Wait() // Each Service has its own error.
	return results, errs
}

// selected returns the Service as the manager sees it.
func (p *planner) selected(service *v1.Service) *v1.Service {
	return p.choice.Sees(p.source.Name, service)
}

// withSubject prefixes an error with its subject, unless it has that prefix.
func withSubject(subject string, err error) string {
	text := cloudapi.OneLine(err)
	if strings.HasPrefix(text, subject) {
		return text
	}
	return subject + ": " + text
}

// configuresRoutes reports whether the manager sets up pod routes in the cloud.
func (p *planner) configuresRoutes() bool {
	return p.options.routes.Has(p.source.Name, len(p.choice.Clouds) > 1)
}

// planRoutes adds the plan of the routes, if the provider supports it.
func (p *planner) planRoutes(ctx context.Context, nodes []*v1.Node, plans []plan.Plan,
	failed []string) ([]plan.Plan, []string) {
	impl, ok := p.cloud.Routes()
	if !ok || !p.configuresRoutes() {
		return plans, failed
	}
	routePlanner, ok := impl.(routes.Planner)
	ranges, err := p.options.clusterCIDRs()
	switch {
	case err != nil:
		return plans, append(failed, cloudapi.OneLine(err))
	case !ok:
		printNote(p.err, "%s cannot plan routes", p.source.Title)
		return plans, failed
	case len(ranges) == 0:
		printNote(p.err, "routes are not planned: give the manager's --%s, or --%s=false", flagClusterCIDR, flagCloudRoutes)
		return plans, failed
	}
	planned, err := routePlanner.PlanRoutes(ctx, p.options.clusterName, nodes, ranges)
	if err != nil {
		return plans, append(failed, "routes: "+cloudapi.OneLine(err))
	}
	return append(plans, planned), failed
}

// printNote prints a message that is not part of the plan.
func printNote(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "ccm: note: "+format+"\n", args...)
}
