package ccmapp

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	frameworkoptions "k8s.io/cloud-provider/options"
	cmfeatures "k8s.io/controller-manager/pkg/features"

	"github.com/unified-ccm/unified-ccm/pkg/common/assign"
	"github.com/unified-ccm/unified-ccm/pkg/common/drift"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Defaults that differ from the framework's, which suit a cluster of a few nodes. The help of each flag
// explains the reason; see explainDefaults.
const (
	// concurrentSyncs is the number of concurrent node syncs, concurrentServiceSyncs that of Services. Workers
	// mostly wait for the cloud, and the cloud's client bounds the load by its rate limits and its connections
	// to a host, so workers are cheap. A Service holds its worker while its load balancer boots, which takes a
	// minute for a virtual machine, and while its members change, which happens to all Services when a node
	// joins: no Service should wait for another.
	concurrentSyncs        = 16
	concurrentServiceSyncs = 256
	// Each of these workers makes a few requests per object, so the client's limits must not be the bottleneck;
	// API Priority and Fairness protects the server.
	kubeAPIQPS   = 100
	kubeAPIBurst = 200
	// minResync is the minimum interval at which the cloud's routes are compared with the nodes while nothing
	// changes: the framework does so at each resync. In a day these are at most 48 lists.
	minResync = 30 * time.Minute
)

func newOptions() (*options, error) {
	framework, err := frameworkOptions()
	if err != nil {
		return nil, err
	}
	o := &options{framework: framework}
	fs := o.flagSets.FlagSet(sectionUnified)
	fs.BoolVar(&o.strict, flagStrict, false,
		"Reject a cloud configuration with warnings, such as an unknown key. Off by default, because existing "+
			"files often contain obsolete keys.")
	fs.BoolVar(&o.guard.DryRun, flagDryRun, false,
		"Change nothing, neither in the cloud nor in the cluster: log planned changes, and report them as Events. "+
			"The leader lease gets the suffix "+dryRunSuffix+", so that it can run beside the real manager.")
	fs.DurationVar(&o.auditPeriod, flagAuditPeriod, drift.DefaultPeriod,
		"How long drift of a load balancer may stay uncorrected: each is compared with the cloud once per period, evenly "+
			"spread. 0 turns it off.")
	fs.StringVar(&o.tracingFile, flagTracing, "",
		"File with a TracingConfiguration, as kube-apiserver's: spans of syncs, changes and cloud requests go to its "+
			"endpoint as OTLP over HTTP (default localhost:4318), or over HTTPS if it begins with https://. Empty exports none.")
	addClassesFlag(fs, &o.classes)
	fs.StringVar(&o.defaultProvider, flagDefault, "",
		"With several clouds, the one that gets the load balancers of Services that select none, by their class or by the "+
			"annotation "+intent.KeyProvider+". Empty is the first one of --"+flagProvider+". A load balancer that exists "+
			"stays where it is, until its move is approved.")
	fs.DurationVar(&o.moveDelay, flagMoveDelay, assign.DefaultMoveDelay,
		"With several clouds, how long the old load balancer of a move stays once the new one has an address: as long as "+
			"clients use the old address.")
	o.guard.AddFlags(o.flagSets.FlagSet(sectionSafety))
	o.podCIDRs.AddFlags(o.flagSets.FlagSet(sectionIPAM))
	for _, d := range provider.All() {
		if d.Flags != nil {
			d.Flags(o.flagSets.FlagSet(d.Title + sectionsProvider))
		}
	}
	return o, nil
}

// frameworkOptions returns the framework's options with our defaults.
func frameworkOptions() (*frameworkoptions.CloudControllerManagerOptions, error) {
	// The framework itself has no webhook, so the port stays closed unless one is enabled.
	webhookPort := 0
	providerDefaults := frameworkoptions.ProviderDefaults{WebhookBindPort: &webhookPort}
	s, err := frameworkoptions.NewCloudControllerManagerOptionsWithProviderDefaults(providerDefaults)
	if err != nil {
		return nil, fmt.Errorf("default options: %w", err)
	}
	s.ServiceController.ConcurrentServiceSyncs = concurrentServiceSyncs
	s.NodeController.ConcurrentNodeSyncs = concurrentSyncs
	s.NodeController.ConcurrentNodeStatusUpdates = concurrentSyncs
	s.NodeLifecycleController.ConcurrentNodeLifecycleSyncs = concurrentSyncs
	s.Generic.ClientConnection.QPS = kubeAPIQPS
	s.Generic.ClientConnection.Burst = kubeAPIBurst
	s.Generic.MinResyncPeriod.Duration = minResync
	s.Generic.Debugging.EnableProfiling = false
	return s, watchRoutesByDefault()
}

// watchRoutesByDefault enables watch-based route reconciliation: routes follow node events at once, instead
// of a full list of the cloud's routes every 10 seconds. --feature-gates can still disable it.
func watchRoutesByDefault() error {
	gate := cmfeatures.CloudControllerManagerWatchBasedRoutesReconciliation
	if utilfeature.DefaultFeatureGate.Enabled(gate) {
		return nil
	}
	if err := utilfeature.DefaultMutableFeatureGate.OverrideDefault(gate, true); err != nil {
		return fmt.Errorf("default of feature gate %s: %w", gate, err)
	}
	return nil
}

// defaultReasons are added to the help of the framework's flags for which ccm changes the default.
var defaultReasons = map[string]string{
	"concurrent-service-syncs": "256 instead of the framework's 1: one slow load balancer must not hold up the " +
		"others, and each one is locked by itself.",
	"concurrent-node-syncs": "16 instead of the framework's 1: nodes that join together share bulk calls.",
	"concurrent-node-status-updates": "16 instead of the framework's 0 (as many as node syncs): addresses come from a " +
		"shared snapshot.",
	"concurrent-node-lifecycle-syncs": "16 instead of the framework's 1: nodes that fail together are looked up together.",
	"kube-api-qps":                    "100 instead of the framework's 20, to match the workers of the controllers.",
	"kube-api-burst":                  "200 instead of the framework's 30, to match the workers of the controllers.",
	"min-resync-period": "30m instead of the framework's 12h, because pod routes that were " +
		"changed by other clients are found at a resync.",
	"profiling": "Off, unlike the framework's default: " +
		"profiles and goroutine dumps show what the process works on.",
	"webhook-secure-port": "0 unless --webhooks names one (then 10260): an unused port should not be open.",
	"route-reconciliation-period": "Used only with " +
		"--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=false; by default routes follow node events.",
	"leader-elect-resource-name": "The default is the name that the clouds' own managers use, so that during a " +
		"move from one of them only one is ever active.",
	"use-service-account-credentials": "The node, service and route controllers have the accounts node-controller, " +
		"service-controller and route-controller in kube-system; everything else uses the account of the pod.",
}

// helpOverrides replaces help texts of the framework that do not match the behaviour of ccm.
func helpOverrides() map[string]string {
	return map[string]string{
		flagProvider: "The cloud: " + providerChoice() + ". With commas several of them, each with controllers of its own.",
		flagConfig: "The cloud's configuration file (cloud.conf). Its content depends on the cloud; ccm config " +
			"validate checks it. With several clouds NAME=FILE for each, with commas.",
		flagClusterName: "Name of the cluster. It is part of the names and tags of objects in the cloud: " +
			"with another name, existing load balancers and routes are not found.",
		flagClusterCIDR: "The addresses of all pods, such as 10.244.0.0/16; with a comma one range for each address " +
			"family. Needed for pod routes: outside of it none is created or deleted, and a node with such a pod CIDR gets " +
			"an Event.",
		flagCloudRoutes: "Create a route to the pods of each node, if the cloud supports it. Not needed if the pod " +
			"network has its own routing. With several clouds, true is not enough: name those that create routes, with commas.",
		"allow-untagged-cloud": "Start even if the cloud's configuration does not identify the cluster.",
	}
}

// explainDefaults sets our help texts, and our defaults of flags that the framework registers with constants.
func explainDefaults(fs *pflag.FlagSet) error {
	// The framework registers this flag with a default of 0 and ignores the options.
	if f := fs.Lookup("concurrent-node-status-updates"); f != nil {
		f.DefValue = strconv.Itoa(concurrentSyncs)
		if err := f.Value.Set(f.DefValue); err != nil {
			return fmt.Errorf("default of --%s: %w", f.Name, err)
		}
	}
	for name, usage := range helpOverrides() {
		if f := fs.Lookup(name); f != nil {
			f.Usage = usage
		}
	}
	for name, reason := range defaultReasons {
		if f := fs.Lookup(name); f != nil {
			f.Usage = strings.TrimSuffix(f.Usage, ".") + ". " + reason
		}
	}
	return nil
}
