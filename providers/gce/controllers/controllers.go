// Package controllers has the provider's controllers: node IPAM from ranges of instances, and those of the previous
// manager's command lines.
package controllers

import (
	"context"

	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/gce/instances"
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
		nodeipam.Controller(false),
		{Name: paramSet, OptIn: true}, {Name: services, OptIn: true}, {Name: tenants, OptIn: true},
	}
}

// Aliases returns the further names of controllers in --controllers.
func Aliases() map[string]string {
	return nodeipam.Aliases(map[string]string{"gke-service": services, "gke-tenant": tenants})
}

// reasons are why a controller does nothing.
var reasons = map[string]string{
	paramSet: "its resources are those of GKE",
	services: "Services of the legacy load balancer classes are left alone",
	tenants:  "its resources are those of GKE",
}

// Starter starts controllers.
type Starter struct {
	Instances *instances.Source
	IDs       names.ProviderIDs
	// PodRange is the secondary range of the subnetwork for pods; "" if the configuration names none.
	PodRange string
}

// StartController implements provider.ControllerStarter. For a command line of the previous manager it logs that a
// controller does nothing.
func (s *Starter) StartController(ctx context.Context, name string, c provider.ControllerContext) (bool, error) {
	if name == nodeipam.Name {
		return nodeipam.Start(ctx, c, &podRanges{
			instances: s.Instances, ids: s.IDs, rangeName: s.PodRange, cluster: c.PodCIDRs.Cluster,
		})
	}
	if reason, ok := reasons[name]; ok {
		klog.FromContext(ctx).Info("This controller exists only for existing command lines and does nothing",
			"provider", names.Scheme, "controller", name, "reason", reason)
	}
	return false, nil
}
