package ccmapp

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	appconfig "k8s.io/cloud-provider/app/config"
	tracingapi "k8s.io/component-base/tracing/api/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/cmd/internal/lease"
	"github.com/unified-ccm/unified-ccm/cmd/internal/traces"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// checkTimeout bounds the check of the credentials. A cloud that does not answer does not prevent the start:
// it may be back in a minute.
const checkTimeout = 10 * time.Second

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
	// stop is closed when the process ends.
	stop <-chan struct{}
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
	return &daemon{options: o, clock: c, stop: stop, flushTraces: func() {},
		apiServer: apiServer{clock: c, wait: apiServerWait, pause: apiServerPause}}
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
		defer func() { d.flushTraces() }()
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
	kube, err := s.restConfig()
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
	d.cloud = guard.Wrap(cloud, d.options.guard)
	d.health = NewHealth(d.cloud, d.clock)
	if err := d.checkCredentials(ctx, descriptor, s); err != nil {
		return err
	}
	server, err := d.apiServer.reach(ctx, kube, s)
	if err != nil {
		return err
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

// checkCredentials verifies that the cloud accepts the credentials. Only a rejection is an error.
func (d *daemon) checkCredentials(ctx context.Context, descriptor provider.Descriptor, s source) error {
	switch err := d.health.Check(ctx); {
	case err == nil:
		return nil
	case cloudapi.Is(err, cloudapi.Denied):
		return cli.EnvironmentErrorf("%s rejects the credentials: %v; renew those in %s", descriptor.Title, err,
			s.configName())
	default:
		d.warn(descriptor.Title+" did not answer at start; continuing, because it may recover", err.Error())
		return nil
	}
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
		useDryRunClients(config)
	}
	d.startTracing(logger)
	if err := d.serve(config, d.stop); err != nil {
		logger.Error(err, "Failed to serve the secure port")
		klog.FlushAndExit(klog.ExitFlushTimeout, cli.ExitEnvironment)
	}
	ctx := wait.ContextForChannel(d.stop)
	if election := config.ComponentConfig.Generic.LeaderElection; election.LeaderElect {
		observer := lease.NewObserver(config.Client.CoordinationV1(), election.ResourceNamespace, election.ResourceName,
			d.clock)
		d.health.SetInfo(observer.Line)
		go observer.Watch(ctx)
	}
	go d.health.Watch(ctx)
	// Validated with the flags.
	if selector, err := d.options.guard.NodeSelector(); err == nil && !selector.Empty() {
		logger.Info("Watching a subset of the nodes", "selector", selector.String())
		filterNodes(config, selector)
	}
	watchSelectedServices(config, d.cloud.ProviderName(), d.options.classes)
	if err := trimObjects(config); err != nil {
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
