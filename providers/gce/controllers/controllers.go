// Package controllers has the controllers of the previous manager's command lines.
package controllers

import (
	"context"

	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// The controllers of the previous manager that do nothing here. All of them are off by default there too.
const (
	paramSet = "gkenetworkparamset"
	services = "gke-service-lb-controller"
	tenants  = "gke-tenant-controller-manager"
)

// All returns the controllers.
func All() []provider.Controller {
	return []provider.Controller{
		{Name: paramSet, OptIn: true}, {Name: services, OptIn: true}, {Name: tenants, OptIn: true},
	}
}

// Aliases returns the further names of controllers in --controllers.
func Aliases() map[string]string {
	return map[string]string{"gke-service": services, "gke-tenant": tenants}
}

// reasons are why a controller does nothing.
var reasons = map[string]string{
	paramSet: "its resources are those of GKE",
	services: "Services of the legacy load balancer classes are left alone",
	tenants:  "its resources are those of GKE",
}

// Start implements provider.ControllerStarter for a command line of the previous manager: it logs that a controller
// does nothing.
func Start(ctx context.Context, name string) (started bool, err error) {
	if reason, ok := reasons[name]; ok {
		klog.FromContext(ctx).Info("This controller exists only for existing command lines and does nothing",
			"provider", names.Scheme, "controller", name, "reason", reason)
	}
	return false, nil
}
