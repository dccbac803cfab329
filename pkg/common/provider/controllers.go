package provider

import (
	"context"
	"sync"

	v1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
)

// Controller is a controller of a provider, in addition to those of the framework. It runs on the leader
// only.
type Controller struct {
	// Name is its name in --controllers. It can never change.
	Name string
	// OptIn controllers run only if --controllers names them, as in --controllers=*,NAME.
	OptIn bool
}

// ControllerStarter is implemented by providers with Controllers in their Descriptor.
type ControllerStarter interface {
	// StartController starts the controller of that name, which runs until ctx ends, and returns. started is
	// false if the manager's flags make it unnecessary. An error ends the manager, so it is for invalid flags
	// only; the controller handles errors of the cloud itself.
	StartController(ctx context.Context, name string, context ControllerContext) (started bool, err error)
}

// ControllerContext is what the manager passes to a provider's controller.
type ControllerContext struct {
	Client kubernetes.Interface
	// Nodes is the manager's informer. Handlers are added before StartController returns.
	Nodes coreinformers.NodeInformer
	// Owns returns the ownership of a node, and respects the opt-out label. The controller must not change nodes
	// that are not Mine.
	Owns func(*v1.Node) Ownership
	// Recorder records Events on Nodes. Never nil.
	Recorder record.EventRecorder
	// DryRun forbids changes in the cloud and in the cluster.
	DryRun bool
	// AllocateNodeCIDRs and CIDRAllocatorType are the manager's flags of these names.
	AllocateNodeCIDRs bool
	CIDRAllocatorType string
	// PodCIDRs are the ranges of the manager's flags, which are valid for podcidr.Ranges only if they allocate.
	PodCIDRs podcidr.Config
	// Routes is set if the route controller runs for this cloud: it sets the condition NetworkUnavailable.
	Routes bool
	// Clock is never nil.
	Clock clock.Clock
	// PodRanges allocates podCIDRs for the Nodes of all clouds of the process.
	PodRanges *podcidr.Ranges
	// Running are the controllers that the provider has started: the lease is released after they have ended. May be nil.
	Running *sync.WaitGroup
}

// Go runs a controller, which returns soon after its context has ended and its last writes have.
func (c ControllerContext) Go(run func()) {
	if c.Running == nil {
		go run()
		return
	}
	c.Running.Go(run)
}
