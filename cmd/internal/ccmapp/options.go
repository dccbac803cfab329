package ccmapp

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/names"
	frameworkoptions "k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	controllermanagerapp "k8s.io/controller-manager/app"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/cmd/internal/controllers"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Names of flags that messages mention.
const (
	flagProvider     = "cloud-provider"
	flagConfig       = "cloud-config"
	flagKubeconfig   = "kubeconfig"
	flagMaster       = "master"
	flagStrict       = "strict-config"
	flagDryRun       = "dry-run"
	flagClusterName  = "cluster-name"
	flagClusterCIDR  = podcidr.FlagCluster
	flagCloudRoutes  = "configure-cloud-routes"
	flagWebhookPort  = "webhook-secure-port"
	flagVersion      = "version"
	flagAuditPeriod  = "load-balancer-audit-period"
	flagTracing      = "tracing-config-file"
	flagClasses      = "load-balancer-classes"
	flagDefault      = "default-cloud-provider"
	flagMoveDelay    = "load-balancer-move-delay"
	dryRunSuffix     = "-dry-run"
	sectionUnified   = "unified-ccm"
	sectionSafety    = "node safety"
	sectionIPAM      = "node IPAM"
	sectionsProvider = " provider"
)

// Values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// source locates the cloud, its configuration and the API server: the flags that all commands share.
type source struct {
	provider, configFile string
	kubeconfig, master   string
	strict               bool
}

// addFlags adds the flags of a subcommand; the daemon has most of them from the framework.
func (s *source) addFlags(fs *pflag.FlagSet, cluster bool) {
	fs.StringVar(&s.provider, flagProvider, s.provider, "The cloud: "+providerChoice()+".")
	fs.StringVar(&s.configFile, flagConfig, s.configFile, "The cloud's configuration file (cloud.conf).")
	if cluster {
		fs.StringVar(&s.kubeconfig, flagKubeconfig, s.kubeconfig,
			"File with the address and the credentials of the Kubernetes API server; not needed inside a cluster.")
		fs.StringVar(&s.master, flagMaster, s.master, "Address of the Kubernetes API server; overrides the one in "+
			"--kubeconfig.")
	}
}

// options are all options of the daemon.
type options struct {
	framework *frameworkoptions.CloudControllerManagerOptions
	guard     guard.Options
	strict    bool
	// auditPeriod is the longest time that drift in the cloud stays undetected.
	auditPeriod time.Duration
	// tracingFile configures the export of traces; empty exports none.
	tracingFile string
	// classes selects the Services that get load balancers.
	classes loadbalancer.Classes
	// defaultProvider is the cloud of Services that select none of several; empty for the first one.
	defaultProvider string
	// moveDelay is how long both load balancers of a move work.
	moveDelay time.Duration
	// routes are the clouds with pod routes.
	routes controllers.RouteClouds
	// podCIDRs are the flags of node IPAM.
	podCIDRs controllers.PodCIDRFlags
	// flagSets are our flags, by section.
	flagSets cliflag.NamedFlagSets
}

// addClassesFlag adds the flag that selects Services by class.
func addClassesFlag(fs *pflag.FlagSet, classes *loadbalancer.Classes) {
	*classes = cmp.Or(*classes, loadbalancer.DefaultClass)
	fs.StringVar((*string)(classes), flagClasses, string(*classes),
		"The Services that get load balancers, by spec.loadBalancerClass. default: those without a class, and with several "+
			"clouds those with the class of each, too. "+
			"own: those with the class "+loadbalancer.ClassOf("PROVIDER")+", such as "+loadbalancer.ClassOf("aws")+
			", so that another controller can handle those without a class. all: both.")
}

// source returns the values of the daemon's flags.
func (o *options) source() source {
	cloud := o.framework.KubeCloudShared.CloudProvider
	return source{
		provider: cloud.Name, configFile: cloud.CloudConfigFile, strict: o.strict,
		kubeconfig: o.framework.Generic.ClientConnection.Kubeconfig, master: o.framework.Master,
	}
}

// complete derives options from others, once the flags are parsed.
func (o *options) complete(fs *pflag.FlagSet) {
	if len(o.framework.Webhook.Webhooks) > 0 && !fs.Changed(flagWebhookPort) {
		o.framework.WebhookServing.BindPort = frameworkoptions.CloudControllerManagerWebhookPort
	}
	if lease := &o.framework.Generic.LeaderElection.ResourceName; o.guard.DryRun &&
		!strings.HasSuffix(*lease, dryRunSuffix) {
		*lease += dryRunSuffix
	}
}

// validate checks the flags, all at once.
func (o *options) validate() error {
	var lines []string
	if err := o.guard.Validate(); err != nil {
		lines = append(lines, cli.Messages(err)...)
	}
	for name, workers := range map[string]int32{
		"concurrent-service-syncs":        o.framework.ServiceController.ConcurrentServiceSyncs,
		"concurrent-node-syncs":           o.framework.NodeController.ConcurrentNodeSyncs,
		"concurrent-node-lifecycle-syncs": o.framework.NodeLifecycleController.ConcurrentNodeLifecycleSyncs,
	} {
		if workers < 1 {
			lines = append(lines, fmt.Sprintf("--%s=%d: without a worker nothing would be done; use at least 1", name, workers))
		}
	}
	if o.auditPeriod < 0 {
		lines = append(lines, fmt.Sprintf("--%s=%s: must not be negative; use 0 to turn the audit off", flagAuditPeriod,
			o.auditPeriod))
	}
	if err := o.classes.Validate(); err != nil {
		lines = append(lines, fmt.Sprintf("--%s: %v", flagClasses, err))
	}
	if o.moveDelay < 0 {
		lines = append(lines, fmt.Sprintf("--%s=%s: must not be negative", flagMoveDelay, o.moveDelay))
	}
	lines = append(lines, o.validateNames()...)
	if _, err := o.podCIDRs.Config(o.framework.KubeCloudShared.ClusterCIDR); err != nil {
		lines = append(lines, cli.Messages(err)...)
	}
	slices.Sort(lines)
	err := o.framework.Validate(app.ControllerNames(o.constructors()), app.ControllersDisabledByDefault.List(),
		provider.ControllerAliases(), app.AllWebhooks, app.DisabledByDefaultWebhooks)
	if err != nil {
		lines = append(lines, cli.Messages(err)...)
	}
	if len(lines) > 0 {
		return &cli.ExitError{Code: cli.ExitUsage, Lines: lines}
	}
	return nil
}

// constructors returns the framework's controllers and ours.
func (o *options) constructors() map[string]app.ControllerInitFuncConstructor {
	return controllers.Constructors(o.controllers)
}

// validateNames checks the flags that name clouds.
func (o *options) validateNames() []string {
	clouds := strings.Split(o.framework.KubeCloudShared.CloudProvider.Name, ",")
	var lines []string
	if o.defaultProvider != "" && !slices.Contains(clouds, o.defaultProvider) {
		lines = append(lines, fmt.Sprintf("--%s=%s: it is not one of --%s=%s", flagDefault, o.defaultProvider, flagProvider,
			strings.Join(clouds, ",")))
	}
	for _, name := range o.routes.Names() {
		if !slices.Contains(clouds, name) {
			lines = append(lines, fmt.Sprintf("--%s=%s: it is not one of --%s=%s", flagCloudRoutes, name, flagProvider,
				strings.Join(clouds, ",")))
		}
	}
	return lines
}

// checkRoutes rejects a --cluster-cidr for which the route controller would exit the process.
func (o *options) checkRoutes(cloud cloudprovider.Interface, d provider.Descriptor, several bool) error {
	if _, ok := cloud.Routes(); !ok || !o.routes.Has(d.Name, several) ||
		!o.isControllerEnabled(names.NodeRouteController) {
		return nil
	}
	return controllers.CheckRouteRanges(d.Title, o.framework.KubeCloudShared.ClusterCIDR)
}

// checkPodCIDRs rejects ranges from which podCIDRs cannot be allocated, if the provider is about to.
func (o *options) checkPodCIDRs(d provider.Descriptor) error {
	if !o.isControllerEnabled(nodeipam.Name) {
		return nil
	}
	shared := *o.framework.KubeCloudShared.KubeCloudSharedConfiguration
	return o.podCIDRs.Check(d, shared, o.framework.Generic.Controllers, o.guard.NodeFilterRequirements)
}

// isControllerEnabled reports whether --controllers enables a controller, which may be listed by its alias.
func (o *options) isControllerEnabled(controller string) bool {
	aliases := provider.ControllerAliases()
	var enabled []string
	for _, name := range o.framework.Generic.Controllers {
		bare := strings.TrimPrefix(name, "-")
		if canonical, ok := aliases[bare]; ok {
			name = strings.TrimSuffix(name, bare) + canonical
		}
		enabled = append(enabled, name)
	}
	return controllermanagerapp.IsControllerEnabled(controller, app.ControllersDisabledByDefault, enabled)
}

// replaceRoutesFlag makes the framework's flag accept the names of clouds too.
func (o *options) replaceRoutesFlag(fs *pflag.FlagSet) {
	o.routes = controllers.NewRouteClouds(&o.framework.KubeCloudShared.ConfigureCloudRoutes)
	if f := fs.Lookup(flagCloudRoutes); f != nil {
		f.Value = &o.routes
	}
}

// controllers returns the options of the controllers.
func (o *options) controllers() controllers.Options {
	podCIDRs, _ := o.podCIDRs.Config(o.framework.KubeCloudShared.ClusterCIDR) // validate has reported the error
	return controllers.Options{
		Guard: o.guard, AuditPeriod: o.auditPeriod, Classes: o.classes, DefaultProvider: o.defaultProvider,
		MoveDelay: o.moveDelay, Routes: &o.routes, PodCIDRs: podCIDRs,
	}
}

// descriptorOf returns the provider of a name.
func descriptorOf(name string) (provider.Descriptor, error) {
	known := provider.Names()
	d, ok := provider.Get(name)
	switch {
	case ok:
		return d, nil
	case len(known) == 0:
		return d, cli.UsageErrorf("no cloud provider is linked into this binary: build it without the exclude_ tags")
	case name == "":
		return d, cli.UsageErrorf("--%s is not set: use %s", flagProvider, providerChoice())
	}
	message := fmt.Sprintf("--%s=%s: this binary has no such provider", flagProvider, name)
	if nearest := provider.Nearest(name, known); nearest != "" {
		message += fmt.Sprintf("; did you mean %s?", nearest)
	}
	return d, cli.UsageErrorf("%s (linked: %s)", message, strings.Join(known, ", "))
}

// providerChoice lists the linked providers for help texts.
func providerChoice() string {
	known := provider.Names()
	switch n := len(known); n {
	case 0:
		return "none is linked"
	case 1:
		return known[0]
	default:
		return strings.Join(known[:n-1], ", ") + " or " + known[n-1]
	}
}

// planOptions are the flags of ccm plan.
type planOptions struct {
	source
	files, services []string
	all             bool
	clusterName     string
	clusterCIDR     string
	routes          controllers.RouteClouds
	defaultProvider string
	disruption      provider.DisruptionPolicy
	approvals       string
	classes         loadbalancer.Classes
	output, color   string
	verbose         bool
}

// addClusterFlags adds the flags about the cluster, the cloud and the output. --all includes the routes.
func (o *planOptions) addClusterFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&o.clusterName, flagClusterName, o.clusterName,
		"The manager's --cluster-name: it is part of the names of objects in the cloud.")
	fs.StringVar(&o.clusterCIDR, flagClusterCIDR, "", "The manager's --cluster-cidr: without it, routes are not planned.")
	fs.Var(&o.routes, flagCloudRoutes, "Whether the manager sets up pod routes, which --all then includes; with several "+
		"clouds the names of those that have them.")
	fs.Lookup(flagCloudRoutes).NoOptDefVal = "true"
	fs.StringVar(&o.defaultProvider, flagDefault, "", "The manager's --"+flagDefault+".")
	guard.AddDisruptionFlags(fs, &o.disruption, &o.approvals)
	addClassesFlag(fs, &o.classes)
	fs.StringVar(&o.color, "color", o.color, "auto (on a terminal, unless NO_COLOR is set), always or never.")
	fs.BoolVar(&o.verbose, "verbose", false, "Do not shorten values, and also list what does not change.")
	o.source.addFlags(fs, true)
	fs.BoolVar(&o.strict, flagStrict, false, "Reject a cloud configuration with warnings, such as an unknown key.")
	addOutputFlag(cmd, &o.output)
}

// checkCluster validates the flags of addClusterFlags.
func (o planOptions) checkCluster() error {
	if err := checkOutput(o.output); err != nil {
		return err
	}
	switch o.color {
	case colorAuto, colorAlways, colorNever:
	default:
		return cli.UsageErrorf("--color=%s: use auto, always or never", o.color)
	}
	if err := guard.ValidateDisruption(o.disruption, o.approvals); err != nil {
		return cli.UsageErrorf("%v", err)
	}
	if err := o.classes.Validate(); err != nil {
		return cli.UsageErrorf("--%s: %v", flagClasses, err)
	}
	_, err := o.clusterCIDRs()
	return err
}

// clusterCIDRs parses the pod ranges; none when --cluster-cidr is not given.
func (o planOptions) clusterCIDRs() ([]netip.Prefix, error) {
	return controllers.ParseCIDRs(flagClusterCIDR, o.clusterCIDR)
}
