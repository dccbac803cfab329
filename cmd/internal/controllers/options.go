package controllers

import (
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

// Constructors returns the framework's controllers and ours. The framework's map is shared by the whole process, so it
// is copied before the client names are changed. The options are read when a controller starts, after the flags are
// parsed.
func Constructors(clientName string, options func() Options) map[string]app.ControllerInitFuncConstructor {
	controllers := maps.Clone(app.DefaultInitFuncConstructors)
	for name, start := range map[string]startFunc{
		names.CloudNodeController: startNodeController, names.ServiceLBController: startServiceController,
		names.NodeRouteController: startRouteController(options), AuditController: startAudit(options),
	} {
		controllers[name] = app.ControllerInitFuncConstructor{Constructor: perSet(start)}
	}
	controllers[names.CloudNodeLifecycleController] = app.ControllerInitFuncConstructor{
		Constructor: startLifecycleControllers,
	}
	for _, d := range provider.All() {
		for _, c := range d.Controllers {
			controllers[c.Name] = app.ControllerInitFuncConstructor{Constructor: perSet(providerController(c.Name, options))}
		}
	}
	for name, c := range controllers {
		c.InitContext.ClientName = clientName
		controllers[name] = c
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
