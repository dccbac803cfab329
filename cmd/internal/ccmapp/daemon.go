package ccmapp

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	appconfig "k8s.io/cloud-provider/app/config"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/cmd/internal/kubeclients"
	"github.com/unified-ccm/unified-ccm/cmd/internal/lease"
	"github.com/unified-ccm/unified-ccm/cmd/internal/traces"
	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/kube"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// checkTimeout bounds the check of the credentials. A cloud that does not answer does not prevent the start:
// it may be back in a minute.
const checkTimeout = 10 * time.Second

// Rejected credentials are tried again after rejectedRetry at first, and then after twice the previous wait, up to
// rejectedRetryMax. A process that exits instead is restarted with the same credentials, each time with one more failed
// login: vCenter Single Sign-On locks the account after five.
const (
	rejectedRetry    = recheckPeriod
	rejectedRetryMax = 5 * time.Minute
)

// daemon is the manager itself. It checks everything that can be wrong with the command line, the
// configuration and the environment before it starts the framework, which would end the process with a stack
// trace.
type daemon struct {
	options   *options
	apiServer apiServer
	// cloud is the guarded provider. Preflight creates it for the framework.
	cloud  cloudprovider.Interface
	health *Health
	clock  clock.Clock
	// stop is closed by the signal that ends the process.
	stop <-chan struct{}
	// stopped is closed when all work has ended; the framework and the process end with it.
	stopped chan struct{}
	// leading is set on the leader, and releaseLease then ends its lease.
	leading      atomic.Bool
	releaseLease func(context.Context) error
	// markLease marks the lease of the leader, and returns since when no other manager has led; empty without a lease.
	markLease func() (since string)
	// rejected is the error of credentials that the cloud rejects.
	rejected error
	// unanswered is set if the cloud gave no answer at start.
	unanswered bool
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

// preflight checks everything that can be checked, from the cheapest to the most expensive, and constructs
// the cloud. It returns errors for the user.
func (d *daemon) preflight(ctx context.Context) error {
	s := d.options.source()
	descriptor, err := s.descriptor()
	if err != nil {
		return err
	}
	if err := d.options.validate(); err != nil {
		return err
	}
	if d.tracing, err = d.options.readTracing(); err != nil {
		return err
	}
	config, err := s.loadConfig(descriptor)
	if err != nil {
		return err
	}
	for _, w := range config.warnings {
		d.warn("Cloud configuration has a setting without effect", w)
	}
	cluster, err := s.restConfig()
	if err != nil {
		return err
	}
	cloud, err := s.construct(descriptor)
	if err != nil {
		return err
	}
	if !cloud.HasClusterID() && !d.options.framework.KubeCloudShared.AllowUntaggedCloud {
		return cli.EnvironmentErrorf("%s: the configuration does not identify the cluster: "+
			"set the cluster's ID in %s, or accept that with --allow-untagged-cloud",
			descriptor.Title, s.configName())
	}
	if err := d.options.checkRoutes(cloud, descriptor); err != nil {
		return err
	}
	guards := d.options.guard
	guards.Started = func() string {
		d.leading.Store(true)
		return d.markLease()
	}
	d.cloud = guard.Wrap(cloud, guards)
	d.health = NewHealth(d.cloud, d.clock)
	d.checkCredentials(ctx, descriptor, s)
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

// construct creates the provider. The file was found readable, so the framework's function, which exits the
// process otherwise, is safe to call.
func (s source) construct(d provider.Descriptor) (cloudprovider.Interface, error) {
	cloud, err := cloudprovider.InitCloudProvider(d.Name, s.configFile)
	if err != nil {
		return nil, cli.EnvironmentErrorf("%s cannot be set up: %v", d.Title, err)
	}
	return cloud, nil
}

func (s source) configName() string {
	if s.configFile == "" {
		return "a file given by --" + flagConfig
	}
	return s.configFile
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

// checkCredentials verifies that the cloud accepts the credentials. No result is an error: a cloud that does not answer
// may recover, and initialize waits for credentials that are accepted.
func (d *daemon) checkCredentials(ctx context.Context, descriptor provider.Descriptor, s source) {
	switch err := d.health.Check(ctx); {
	case err == nil:
	case cloudapi.Is(err, cloudapi.Denied):
		d.rejected = fmt.Errorf("%s rejects the credentials: %w; renew those in %s", descriptor.Title, err, s.configName())
	default:
		d.unanswered = true
		d.warn(descriptor.Title+" did not answer at start; continuing, because it may recover", err.Error())
	}
}

// withRejection returns an error that ends the process, with the one that does not in front of it.
func (d *daemon) withRejection(err error) error {
	if d.rejected == nil {
		return err
	}
	lines := append([]string{cloudapi.OneLine(d.rejected)}, messages(err)...)
	return &cli.ExitError{Code: cli.ExitEnvironment, Lines: lines}
}

// awaitCredentials returns when the cloud does not reject the credentials any more, or ctx has ended. Until then the
// process is not ready, and does not take part in the leader election: another replica may have accepted ones.
func (d *daemon) awaitCredentials(ctx context.Context) {
	if d.rejected == nil {
		return
	}
	logger := klog.FromContext(ctx)
	d.health.SetBlocked(d.rejected)
	for wait := rejectedRetry; ; wait = min(2*wait, rejectedRetryMax) {
		logger.Error(d.rejected, "Not ready: waiting for credentials that the cloud accepts", "retryAfter", wait)
		if clocks.Sleep(ctx, d.clock, wait) != nil {
			return
		}
		if err := d.health.Check(ctx); !cloudapi.Is(err, cloudapi.Denied) {
			logger.Info("The cloud does not reject the credentials any more")
			d.health.SetBlocked(nil)
			return
		}
	}
}

// unansweredDelay is several times the period at which replicas try to get the lease.
const unansweredDelay = 10 * time.Second

// yieldLease delays the leader election of a replica whose cloud did not answer at start, or until ctx has ended: a
// replica whose cloud answers gets the lease first. During a rollout of a configuration with a wrong address, only the
// replicas of the old one can work.
func (d *daemon) yieldLease(ctx context.Context) {
	if !d.unanswered {
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
	kubeclients.WatchSelectedServices(config, d.cloud.ProviderName(), d.options.classes)
	if err := kubeclients.TrimObjects(config); err != nil {
		logger.Error(err, "Failed to trim the objects of informers; they use more memory")
	}
	logger.Info("Starting", "provider", d.cloud.ProviderName(), "version", currentVersion().Version)
	return d.cloud
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
