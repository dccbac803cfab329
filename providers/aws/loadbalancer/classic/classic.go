// Package classic manages classic load balancers, the generation that a Service gets unless it selects
// another. Desire computes the objects that should exist, Observe reads the existing ones, and Diff plans the
// changes between them. Its files are in layers, and refer only to earlier ones: model.go with the types,
// convert.go, refusal.go, store.go, classic.go, then observe.go and inventory.go with the reads, writer.go,
// differ.go and disruption.go, one file for each kind of object with its changes and steps, and desired.go, diff.go
// and members.go with what they combine to.
package classic

import (
	"fmt"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// Options of a Cloud.
type Options struct {
	API     api.ELB
	VPC     string
	Cluster vpc.Cluster
	// Groups is the snapshot of security groups that all load balancers share.
	Groups *vpc.GroupStore
	// Instances are read again when AWS refuses one.
	Instances vpc.InstanceSource
	// SecurityGroup is one group for all classic load balancers (ElbSecurityGroup); "" gives each its own.
	SecurityGroup string
	// NoNodeRules leaves the rules of nodes' security groups to the user (DisableSecurityGroupIngress).
	NoNodeRules bool
	// SharedProbe is nil if each Service is probed at its node port.
	SharedProbe *annotation.SharedProbe
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Cloud manages classic load balancers. It is safe for concurrent use.
type Cloud struct {
	options Options
	store   *store
}

// New returns a Cloud. It makes no calls.
func New(o Options) *Cloud {
	o.Clock = clocks.OrReal(o.Clock)
	return &Cloud{options: o, store: newStore(o.API, o.Clock)}
}

// scope returns the scope of a Service's load balancer.
func (c *Cloud) scope(key lbcommon.Key) scope {
	return scope{key: key, name: Name(key), vpc: c.options.VPC, cluster: c.options.Cluster}
}

// scope identifies the load balancer of a Service.
type scope struct {
	key       lbcommon.Key
	name, vpc string
	cluster   vpc.Cluster
}

// foreignOwner returns the owner of a load balancer with the name of the Service's, "" if that is this Service. One
// without any mark is the Service's: its name contains the UID.
func (s scope) foreignOwner(b Balancer) string {
	if owner := tags.ForeignOwner(b.Tags, s.cluster.ID, s.key); owner != "" && tags.Marked(b.Tags) {
		return owner
	}
	if b.VPC != s.vpc {
		return "a cluster in VPC " + b.VPC
	}
	return ""
}

func (s scope) refuseForeign(b Balancer) error {
	owner := s.foreignOwner(b)
	if owner == "" {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: s.key.Subject(),
		Err: fmt.Errorf("the load balancer %s belongs to %s, not to cluster %q in VPC %s, and is left alone: delete it if "+
			"that cluster no longer exists, or create the Service again under another name",
			b.Name, owner, s.cluster.ID, s.vpc)}
}
