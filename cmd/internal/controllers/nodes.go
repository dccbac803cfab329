package controllers

import (
	"context"
	"fmt"

	coreinformers "k8s.io/client-go/informers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	nodecontroller "k8s.io/cloud-provider/controllers/node"
	lifecyclecontroller "k8s.io/cloud-provider/controllers/nodelifecycle"
	controllermanagerapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"
	"k8s.io/klog/v2"
)

// startNodeController starts the framework's controller that initializes the Nodes of a set.
func startNodeController(ctx context.Context, s controllerStart) (bool, error) {
	if _, ok := s.set.cloud.InstancesV2(); !ok {
		klog.FromContext(ctx).Info("The node controller does not start, because the cloud has no instances", "provider",
			s.set.name())
		return false, nil
	}
	component := s.config.ComponentConfig
	nodes, err := nodecontroller.NewCloudNodeController(
		s.sets.nodesOf(s.set, s.informers().Nodes()), s.config.ClientBuilder.ClientOrDie(s.ClientName), s.set.cloud,
		component.NodeStatusUpdateFrequency.Duration, component.NodeController.ConcurrentNodeSyncs,
		component.NodeController.ConcurrentNodeStatusUpdates)
	if err != nil {
		return false, fmt.Errorf("the node controller: %w", err)
	}
	go nodes.RunWithContext(ctx, s.shared.ControllerManagerMetrics)
	return true, nil
}

// startLifecycleControllers starts the framework's controllers that delete the Nodes whose machines do not exist any
// more: one for each set and, with several clouds, one for the Nodes that may be of any of them.
func startLifecycleControllers(initContext app.ControllerInitContext, config *appconfig.CompletedConfig,
	cloud cloudprovider.Interface) app.InitFunc {
	ofSets := perSet(startLifecycleController)(initContext, config, cloud)
	return func(ctx context.Context, shared controllermanagerapp.ControllerContext) (controller.Interface, bool, error) {
		if sets, _ := cloud.(*Sets); sets.nodes != nil {
			s := controllerStart{initContext, config, shared, sets, nil}
			if err := s.runLifecycle(ctx, sets.unidentified, sets.nodes.Unidentified()); err != nil {
				return nil, false, err
			}
		}
		return ofSets(ctx, shared)
	}
}

// startLifecycleController starts that of a set. With several clouds, it sees the Nodes with a provider ID of its own.
func startLifecycleController(ctx context.Context, s controllerStart) (bool, error) {
	if _, ok := s.set.cloud.InstancesV2(); !ok {
		return false, nil
	}
	var nodes coreinformers.NodeInformer = s.informers().Nodes()
	if s.sets.nodes != nil {
		nodes = s.sets.nodes.IdentifiedOf(s.set.name())
	}
	return true, s.runLifecycle(ctx, s.set.cloud, nodes)
}

func (s controllerStart) runLifecycle(ctx context.Context, cloud cloudprovider.Interface,
	nodes coreinformers.NodeInformer) error {
	component := s.config.ComponentConfig.NodeLifecycleController
	lifecycle, err := lifecyclecontroller.NewCloudNodeLifecycleController(nodes,
		s.config.ClientBuilder.ClientOrDie(s.ClientName), cloud, component.NodeMonitorPeriod.Duration,
		int(component.ConcurrentNodeLifecycleSyncs))
	if err != nil {
		return fmt.Errorf("the node lifecycle controller: %w", err)
	}
	go lifecycle.Run(ctx, s.shared.ControllerManagerMetrics)
	return nil
}
