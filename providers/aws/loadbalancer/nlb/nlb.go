// Package nlb manages network load balancers. Its packages are the steps of a sync: model (desired objects), observe,
// diff (the changes of a plan, without observe and apply) and apply (the calls that change objects). Subnets, security
// groups and their rules come from package vpc.
package nlb

import (
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/apply"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/diff"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// Options of a Cloud. All are required but Instances and Clock.
type Options struct {
	API api.ELBV2
	// Groups are the security groups of the VPC.
	Groups *vpc.GroupStore
	// Instances reads which instances run, when AWS rejects targets.
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
	applier *apply.Applier
}

// New returns a Cloud. It makes no calls.
func New(o Options) *Cloud {
	o.Clock = clocks.OrReal(o.Clock)
	store := observe.NewStore(observe.Options{
		API: o.API, Groups: o.Groups, VPC: o.VPC, Cluster: o.Cluster, Clock: o.Clock,
	})
	return &Cloud{options: o, store: store, applier: apply.New(apply.Options{
		API: o.API, Store: store, Groups: o.Groups, Clock: o.Clock, Instances: o.Instances,
	})}
}

// Store returns the store of observations.
func (c *Cloud) Store() *observe.Store { return c.store }

// Diff returns the changes from the existing to the desired objects of a Service: see diff.Plan.
func (c *Cloud) Diff(key lbcommon.Key, want *model.Desired, have model.Observed) (changes []plan.Change,
	warnings []string, err error) {
	return diff.Plan(c.diffOptions(key), want, have)
}

// NodeRules returns the rules on nodes that a load balancer needs: see diff.NodeRules.
func (c *Cloud) NodeRules(key lbcommon.Key, want *model.Desired, have model.Observed) vpc.NodeRules {
	return diff.NodeRules(c.diffOptions(key), want, have)
}

// DiffMembers returns only the changes of targets: see diff.Members.
func (c *Cloud) DiffMembers(r model.Request, have model.Observed) []plan.Change {
	return diff.Members(c.diffOptions(r.Key), r, have)
}

func (c *Cloud) diffOptions(key lbcommon.Key) diff.Options {
	return diff.Options{Key: key, Cluster: c.options.Cluster, NoNodeRules: c.options.Settings.NoNodeRules}
}

// Bind returns a plan with the functions that make the steps of package diff.
func (c *Cloud) Bind(key lbcommon.Key, p plan.Plan) plan.Plan {
	return plan.Bind(p, diff.Writer(c.applier.Writer(key)))
}

// StoredRecord returns the applied record of a load balancer, and whether one can be stored with it: not with the
// load balancer of another owner, or with unknown tags.
func (c *Cloud) StoredRecord(key lbcommon.Key, have model.Observed) (record lbcommon.AppliedRecord, writable bool) {
	b := have.Balancer
	if b == nil || b.Tags == nil || have.ForeignOwner(c.options.Cluster.ID, key) != "" {
		return lbcommon.AppliedRecord{}, false
	}
	return model.RecordOf(b.Tags), true
}

// StoreRecords plans updates of the records of existing load balancers: see diff.StoreRecords.
func (c *Cloud) StoreRecords(updates []lbcommon.RecordUpdate[model.Observed]) []plan.Change {
	p := plan.Plan{Changes: diff.StoreRecords(updates)}
	return c.Bind(lbcommon.Key{}, p).Changes // tags of several Services share a call
}

// Effects returns the disruptive changes of network load balancers.
func Effects() []plan.Effect { return diff.Effects() }
