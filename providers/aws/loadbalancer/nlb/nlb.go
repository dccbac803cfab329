// Package nlb manages network load balancers: it observes the existing objects and plans the changes to the
// desired ones. Both are values of package model. Each kind of object has its own file. Subnets, security
// groups and their rules come from package vpc.
package nlb

import (
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// The kinds in plans.
const (
	kindBalancer    = observe.KindBalancer
	kindListener    = observe.KindListener
	kindTargetGroup = observe.KindTargetGroup
	kindTargets     = "targets"
	kindTags        = "tags"
	kindAttributes  = "attributes"
	kindCertificate = "certificates"
)

// Options of a Cloud. All are required but the clock.
type Options struct {
	API api.ELBV2
	// Groups are the security groups of the VPC.
	Groups *vpc.GroupStore
	// Instances reads which instances run, when AWS rejects targets. It may be nil.
	Instances vpc.InstanceSource
	// VPC is the ID of the cluster's VPC: objects in other VPCs are ignored.
	VPC      string
	Cluster  vpc.Cluster
	Settings model.Settings
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Cloud plans and makes changes of network load balancers, over a Store that it updates. It is safe for
// concurrent use.
type Cloud struct {
	options Options
	store   *observe.Store
}

// New returns a Cloud. It makes no calls.
func New(o Options) *Cloud {
	o.Clock = clocks.OrReal(o.Clock)
	return &Cloud{options: o, store: observe.NewStore(observe.Options{
		API: o.API, Groups: o.Groups, VPC: o.VPC, Cluster: o.Cluster, Clock: o.Clock,
	})}
}

// Store returns the store of observations.
func (c *Cloud) Store() *observe.Store { return c.store }

// nameInARN returns the name of a load balancer or target group in its ARN.
func nameInARN(arn string) string {
	parts := strings.Split(arn, "/")
	if len(parts) < 3 {
		return arn
	}
	return parts[len(parts)-2]
}

const (
	// healthPoll is the interval of reads of the health of targets. The minimum interval of probes is 5 s.
	healthPoll = 5 * time.Second
	// healthWait bounds how long a new target group may take to become healthy before it is used anyway. AWS
	// takes up to 3 minutes to start with a target. Longer waits would leave the Service on node ports that may
	// be closed.
	healthWait = 3 * time.Minute
)
