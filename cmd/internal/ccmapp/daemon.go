package ccmapp

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/component-base/metrics/prometheus/slis"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	controllermanagerapp "k8s.io/controller-manager/app"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/cmd/internal/controllers"
	"github.com/unified-ccm/unified-ccm/cmd/internal/kubeclients"
	"github.com/unified-ccm/unified-ccm/cmd/internal/lease"
	"github.com/unified-ccm/unified-ccm/cmd/internal/traces"
	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/kube"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// daemon is the manager itself. It checks everything that can be wrong with the command line, the
// configuration and the environment before it starts the framework, which would end the process with a stack
// trace.
type daemon struct {
	options   *options
	apiServer apiServer
	// sets are the clouds with their guards. Preflight creates them for the framework.
	sets *controllers.Sets
	// sources are the clouds of sets.
	sources []cloudSource
	health  *Health
	clock   clock.Clock
	// stop is closed by the signal that ends the process.
	stop <-chan struct{}
	// stopped is closed when all work has ended; the framework and the process end with it.
	stopped chan struct{}
	// leading is set on the leader, and releaseLease then ends its lease.
	leading      atomic.Bool
	releaseLease func(context.Context) error
	// markLease marks the lease of the leader, and returns since when no other manager has led; empty without a lease.
	markLease func() (since string)
	// tracing is the configuration of traces; nil exports none.
	tracing *tracingapi.TracingConfiguration
	// flushTraces exports the spans that were not exported yet.
	flushTraces func()
	// warnings are logged once logging is initialized.
	warnings []warning
}

type warning struct{ message, detail string }

func newDaemon(o *options, stop <-chan struct{}) *daemon {
	c := clock.RealClock{}
	return &daemon{options: o, clock: c, stop: stop, stopped: make(chan struct{}), flushTraces: func() {},
		releaseLease: func(context.Context) error { return nil },
		markLease:    func() string { return "" },
		apiServer:    apiServer{clock: c, wait: apiServerWait, pause: apiServerPause}}
}

// run runs the root command. framework is the framework's own command, which returns when ctx ends.
func (d *daemon) run(framework func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if f := cmd.Flags().Lookup(flagVersion); f != nil && f.Value.String() != "false" {
			return printVersion(cmd.OutOrStdout(), outputText)
		}
		d.options.complete(cmd.Flags())
		if err := d.preflight(cmd.Context()); err != nil {
			return err
		}
		go func() {
			<-d.stop
			d.shutDown(klog.NewContext(context.WithoutCancel(cmd.Context()), klog.Background()))
			close(d.stopped)
		}()
		if err := framework(cmd, args); err != nil {
			// The framework has printed it.
			return &cli.ExitError{Code: cli.ExitEnvironment}
		}
		return nil
	}
}

// shutDown ends the work of the process: the calls in flight end, the provider releases what it holds in the cloud, and
// the leader its lease, so that the next one starts at once. The framework itself ends in the middle of calls and keeps
// the lease until it expires.
func (d *daemon) shutDown(ctx context.Context) {
	logger := klog.FromContext(ctx)
	logger.Info("Stopping: waiting for the calls in flight", "timeout", callsTimeout)
	calls, cancel := context.WithTimeout(ctx, callsTimeout)
	defer cancel()
	d.sets.Stop(calls)
	d.flushTraces()
	if !d.leading.Load() {
		return
	}
	// Last: the framework renews the lease as long as the process runs.
	release, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	if err := d.releaseLease(release); err != nil {
		logger.Error(err, "Failed to release the lease; the next leader waits until it expires")
	}
}

// preflight checks everything that can be checked, from the cheapest to the most expensive, and constructs
// the cloud. It returns errors for the user.
func (d *daemon) preflight(ctx context.Context) error {
	s := d.options.source()
	sources, err := s.clouds()
	if err != nil {
		return err
	}
	if err := d.options.validate(); err != nil {
		return err
	}
	if d.tracing, err = d.options.readTracing(); err != nil {
		return err
	}
	configs, err := loadConfigs(sources)
	if err != nil {
		return err
	}
	for _, config := range configs {
		for _, w := range config.warnings {
			d.warn("Cloud configuration has a setting without effect", w)
		}
	}
	cluster, err := s.restConfig()
	if err != nil {
		return err
	}
	if err := d.construct(sources); err != nil {
		return err
	}
	d.checkCredentials(ctx)
	server, err := d.apiServer.reach(ctx, cluster, s)
	if err == nil {
		err = checkClusterUID(ctx, cluster)
	}
	if err != nil {
		return d.withRejection(err)
	}
	if problem := unsupported(server); problem != nil {
		d.warn("Unsupported version of Kubernetes", problem.Error())
		d.health.SetKubernetes(problem)
	}
	return nil
}

// construct creates the clouds with their guards.
func (d *daemon) construct(sources []cloudSource) error {
	guards := d.options.guard
	guards.Budget = guard.NewBudget()
	guards.Started = sync.OnceValue(func() string {
		d.leading.Store(true)
		return d.markLease()
	})
	guards.Initialized = func(r provider.Runtime) { d.sets.SetRuntime(r) }
	var clouds []cloudprovider.Interface
	for _, source := range sources {
		cloud, err := source.construct()
		if err != nil {
			return err
		}
		if !cloud.HasClusterID() && !d.options.framework.KubeCloudShared.AllowUntaggedCloud {
			return cli.EnvironmentErrorf("%s: the configuration does not identify the cluster: "+
				"set the cluster's ID in %s, or accept that with --allow-untagged-cloud",
				source.Title, source.configName())
		}
		if err := d.options.checkRoutes(cloud, source.Descriptor, len(sources) > 1); err != nil {
			return err
		}
		if err := d.options.checkPodCIDRs(source.Descriptor); err != nil {
			return err
		}
		clouds = append(clouds, guard.Wrap(cloud, guards))
	}
	d.health = NewHealth(d.clock, clouds...)
	var sets []*controllers.Set
	for i, cloud := range clouds {
		sets = append(sets, controllers.NewSet(sources[i].Descriptor, cloud, d.health.Clouds()[i], d.clock))
	}
	d.sources = sources
	d.sets = controllers.NewSets(d.options.framework.KubeCloudShared.CloudProvider.Name, sets...)
	return nil
}

// checkClusterUID reads the cluster's UID. Only a missing permission is an error: guard waits for everything else.
func checkClusterUID(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.Timeout = apiServerTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, err := kube.ClusterUID(ctx, client); apierrors.IsForbidden(err) {
		return cli.EnvironmentErrorf("%s", cloudapi.OneLine(err))
	}
	return nil
}

// checkCredentials verifies that the clouds accept the credentials, at the same time. No result is an error: a cloud
// that does not answer may recover, and initialize waits for credentials that are accepted.
func (d *daemon) checkCredentials(ctx context.Context) {
	errs := make([]error, len(d.sources))
	var group sync.WaitGroup
	for i, cloud := range d.health.Clouds() {
		group.Go(func() { errs[i] = cloud.Check(ctx) })
	}
	group.Wait()
	for i, set := range d.sets.All() {
		switch err := errs[i]; {
		case err == nil:
		case cloudapi.Is(err, cloudapi.Denied):
			set.Rejected = fmt.Errorf("%s rejects the credentials: %w; renew those in %s", d.sources[i].Title, err,
				d.sources[i].configName())
		default:
			set.Unanswered = true
			d.warn(d.sources[i].Title+" did not answer at start; continuing, because it may recover", err.Error())
		}
	}
}

// withRejection returns an error that ends the process, with those that do not in front of it.
func (d *daemon) withRejection(err error) error {
	var lines []string
	for _, set := range d.sets.All() {
		if set.Rejected != nil {
			lines = append(lines, cloudapi.OneLine(set.Rejected))
		}
	}
	if len(lines) == 0 {
		return err
	}
	return &cli.ExitError{Code: cli.ExitEnvironment, Lines: append(lines, cli.Messages(err)...)}
}

// awaitCredentials returns once a cloud does not reject its credentials, or ctx ends. The controllers of the others
// start later. Until then the process does not take part in the leader election: another replica may have accepted
// ones.
func (d *daemon) awaitCredentials(ctx context.Context) {
	accepted := make(chan struct{}, len(d.sets.All()))
	for _, set := range d.sets.All() {
		go func() {
			set.AwaitCredentials(ctx)
			accepted <- struct{}{}
		}()
	}
	<-accepted
}

// unansweredDelay is several times the period at which replicas try to get the lease.
const unansweredDelay = 10 * time.Second

// yieldLease delays the leader election of a replica none of whose clouds answered at start, or until ctx has ended: a
// replica whose clouds answer gets the lease first. During a rollout of a configuration with a wrong address, only the
// replicas of the old one can work.
func (d *daemon) yieldLease(ctx context.Context) {
	answered := func(set *controllers.Set) bool { return !set.Unanswered && set.Rejected == nil }
	unanswered := func(set *controllers.Set) bool { return set.Unanswered }
	if slices.ContainsFunc(d.sets.All(), answered) || !slices.ContainsFunc(d.sets.All(), unanswered) {
		return
	}
	klog.FromContext(ctx).Info("Leaving the lease to other replicas first, because the cloud did not answer at start",
		"after", unansweredDelay)
	_ = clocks.Sleep(ctx, d.clock, unansweredDelay) // An error is the end of the process.
}

func (d *daemon) warn(message, detail string) {
	d.warnings = append(d.warnings, warning{message, detail})
}

// initialize is the framework's InitCloudFunc: it is called once, with logging initialized, before any
// controller is constructed.
func (d *daemon) initialize(config *appconfig.CompletedConfig) cloudprovider.Interface {
	logger := klog.Background()
	for _, w := range d.warnings {
		logger.Info("Warning: "+w.message, "detail", w.detail)
	}
	if d.options.guard.DryRun {
		logger.Info("Dry run: changing nothing, neither in the cloud nor in the cluster",
			"lease", config.ComponentConfig.Generic.LeaderElection.ResourceName)
		kubeclients.UseDryRun(config)
	}
	d.startTracing(logger)
	if err := d.serve(config, d.stopped); err != nil {
		logger.Error(err, "Failed to serve the secure port")
		klog.FlushAndExit(klog.ExitFlushTimeout, cli.ExitEnvironment)
	}
	ctx := wait.ContextForChannel(d.stop)
	d.awaitCredentials(ctx)
	if election := config.ComponentConfig.Generic.LeaderElection; election.LeaderElect {
		observer := lease.NewObserver(config.Client.CoordinationV1(), election.ResourceNamespace, election.ResourceName,
			d.clock)
		d.health.SetInfo(observer.Line)
		go observer.Watch(ctx)
		d.releaseLease = leaseReleaser(config, d.clock)
		if !d.options.guard.DryRun {
			d.markLease = func() string { return markLease(ctx, config) }
		}
		d.yieldLease(ctx)
	}
	go d.health.Watch(ctx)
	// Validated with the flags.
	if selector, err := d.options.guard.NodeSelector(); err == nil && !selector.Empty() {
		logger.Info("Watching a subset of the nodes", "selector", selector.String())
		kubeclients.FilterNodes(config, selector)
	}
	if err := kubeclients.TrimObjects(config); err != nil {
		logger.Error(err, "Failed to trim the objects of informers; they use more memory")
	}
	d.sets.Watch(config, d.options.controllers())
	logger.Info("Starting", "provider", d.sets.ProviderName(), "version", currentVersion().Version)
	return d.sets
}

// serve replaces the framework's secure port, which has no /livez and no /readyz. It also serves everything
// that the framework serves, behind the same authentication and authorization, except the check of a leader
// that did not renew its lease in time: such a leader exits anyway.
func (d *daemon) serve(config *appconfig.CompletedConfig, stop <-chan struct{}) error {
	if config.SecureServing == nil {
		return nil
	}
	base := controllermanagerapp.NewBaseHandler(&config.ComponentConfig.Generic.Debugging, alive(pathHealth))
	slis.SLIMetricsWithReset{}.Install(base)
	installHealth(base, d.health)
	handler := controllermanagerapp.BuildHandlerChain(base, &config.Authorization, &config.Authentication)
	if _, _, err := config.SecureServing.Serve(handler, 0, stop); err != nil {
		return err
	}
	config.SecureServing = nil
	return nil
}

// readTracing reads the file of --tracing-config-file; nil without one.
func (o *options) readTracing() (*tracingapi.TracingConfiguration, error) {
	if o.tracingFile == "" {
		return nil, nil //nolint:nilnil // nil exports no traces
	}
	config, err := traces.Read(o.tracingFile)
	if err != nil {
		return nil, cli.UsageErrorf("--%s=%s: %v", flagTracing, o.tracingFile, err)
	}
	return config, nil
}

// startTracing exports spans until the process ends.
func (d *daemon) startTracing(logger klog.Logger) {
	if d.tracing == nil {
		return
	}
	ctx := klog.NewContext(wait.ContextForChannel(d.stop), logger)
	flush, err := traces.Start(ctx, d.tracing, currentVersion().Version)
	if err != nil {
		logger.Error(err, "Failed to export traces", "file", d.options.tracingFile)
		return
	}
	d.flushTraces = flush
}
