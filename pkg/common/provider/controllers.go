package provider

import (
	"context"
	"net/netip"

	v1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
)

// Controller is a controller that a provider brings beside those of the framework. It runs on the
// leader only.
type Controller struct {
	// Name is what --controllers calls it. It can never change.
	Name string
	// OptIn says that it runs only where --controllers names it, as in --controllers=*,NAME.
	OptIn bool
}

// ControllerStarter is implemented by providers whose Descriptor lists Controllers.
type ControllerStarter interface {
	// StartController starts the controller of that name, which runs until ctx ends, and returns.
	// started is false where the manager's flags leave it nothing to do. An error ends the manager,
	// so it is for flags that cannot be right; trouble with the cloud is the controller's own.
	StartController(ctx context.Context, name string, context ControllerContext) (started bool, err error)
}

// ControllerContext is what the manager passes to a provider's controller.
type ControllerContext struct {
	Client kubernetes.Interface
	// Nodes are the manager's. Handlers are added before StartController returns.
	Nodes coreinformers.NodeInformer
	// Owns returns the ownership of a node, and respects the opt-out label. Leave nodes alone that are not Mine.
	Owns func(*v1.Node) Ownership
	// Recorder records Events on Nodes. Never nil.
	Recorder record.EventRecorder
	// DryRun says that nothing may be changed, in the cloud or in the cluster.
	DryRun bool
	// AllocateNodeCIDRs and CIDRAllocatorType are the manager's flags of these names.
	AllocateNodeCIDRs bool
	CIDRAllocatorType string
	// ClusterCIDRs are the ranges of --cluster-cidr; none where it is not set.
	ClusterCIDRs []netip.Prefix
}
