package controllers

import (
	"context"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/client"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Instances reads instances in bulk.
type Instances interface {
	Described(ctx context.Context, ids []string, fresh bool) (map[string]*ec2types.Instance, error)
}

// Starter starts controllers. All fields but Legacy are required.
type Starter struct {
	Flags *Flags
	IDs   commoninstances.Scheme
	// Families are the IP families of node addresses in order.
	Families []string
	// EC2 returns the client of EC2. It may make calls, and caches their result.
	EC2       func(context.Context) (api.EC2, error)
	Instances Instances
	Clock     clock.PassiveClock
	// Legacy are the metrics of cloud-provider-aws; nil records none.
	Legacy *client.LegacyMetrics
}

// nodeController is the common part of the controllers.
type nodeController struct {
	*Starter
	controller provider.ControllerContext
}

// instanceID returns the ID of the EC2 instance of a Node of this cluster. Fargate nodes have none.
func (c *nodeController) instanceID(node *v1.Node) (string, bool) {
	if c.controller.Owns(node) != provider.Mine {
		return "", false
	}
	id, err := c.IDs.Parse(node.Spec.ProviderID)
	return id, err == nil && names.IsInstanceID(id)
}
