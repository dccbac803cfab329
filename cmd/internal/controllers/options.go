package controllers

import (
	"cmp"
	"maps"
	"net/netip"
	"strings"
	"time"

	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/names"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Options are the flags of the controllers.
type Options struct {
	Guard guard.Options
	// AuditPeriod is the longest time that drift in the cloud stays undetected.
	AuditPeriod time.Duration
	// Classes selects the Services that get load balancers.
	Classes loadbalancer.Classes
	// DefaultProvider is the cloud of Services that select none of several; empty for the first one.
	DefaultProvider string
	// MoveDelay is how long both load balancers of a move work.
	MoveDelay time.Duration
	// Routes are the clouds with pod routes.
	Routes *RouteClouds
	// PodCIDRs are the ranges from which podCIDRs are allocated.
	PodCIDRs podcidr.Config
}

// AuditController is the audit's name in --controllers. It can never change.
const AuditController = "load-balancer-audit-controller"

// Constructors returns the framework's controllers and ours. Those of the framework keep the names of their clients,
// which are their service accounts with --use-service-account-credentials. The framework's map is shared by the whole
// process, so it is copied. The options are read when a controller starts, after the flags are parsed.
func Constructors(options func() Options) map[string]app.ControllerInitFuncConstructor {
	controllers := maps.Clone(app.DefaultInitFuncConstructors)
	add := func(name string, start app.InitFuncConstructor) {
		c := controllers[name]
		c.Constructor = start
		c.InitContext.ClientName = cmp.Or(c.InitContext.ClientName, name)
		controllers[name] = c
	}
	for name, start := range map[string]startFunc{
		names.CloudNodeController: startNodeController, names.ServiceLBController: startServiceController,
		names.NodeRouteController: startRouteController(options), AuditController: startAudit(options),
	} {
		add(name, perSet(start))
	}
	add(names.CloudNodeLifecycleController, startLifecycleControllers)
	for _, d := range provider.All() {
		for _, c := range d.Controllers {
			add(c.Name, perSet(providerController(c.Name, options)))
		}
	}
	return controllers
}

// ParseCIDRs reads the value of a flag with ranges; an empty one has none.
func ParseCIDRs(flag, list string) ([]netip.Prefix, error) {
	if list == "" {
		return nil, nil
	}
	var ranges []netip.Prefix
	for _, text := range strings.Split(list, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, cli.UsageErrorf("--%s=%s: %q is not an address range; write for example 10.244.0.0/16", flag, list, text)
		}
		ranges = append(ranges, prefix.Masked())
	}
	return ranges, nil
}
