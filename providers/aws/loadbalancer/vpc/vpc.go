// Package vpc has the parts of their VPC that load balancers of both generations share: subnets, security
// groups, and the rules that allow load balancers to reach nodes. Reads are cached and shared between
// Services; selections and diffs are pure functions.
//
// Its files are in layers, and refer only to earlier ones: options.go, ec2.go, rules.go, group.go, keep.go and
// noderules.go with the types and the diff of rules; subnets.go, claims.go and groups.go with the reads; vpc.go with
// the Reader; then select.go, zones.go and nodegroups.go with the selections, and disruption.go, writes.go, managed.go
// and nodechanges.go with the changes of plans and their steps, which a GroupStore makes.
package vpc

import (
	"context"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

// Reader reads the VPC for all Services. It is safe for concurrent use.
type Reader struct {
	options Options
	subnets *subnetReader
	groups  *GroupStore
}

// NewReader returns a Reader. It makes no calls.
func NewReader(o Options) *Reader {
	o.Clock = clocks.OrReal(o.Clock)
	return &Reader{options: o, subnets: newSubnetReader(o), groups: newGroupStore(o)}
}

// Groups returns the store of security groups.
func (r *Reader) Groups() *GroupStore { return r.groups }

// SharedState is the part of the VPC that Services share and do not own. Readers must not modify it.
type SharedState struct {
	VPC     string
	Cluster Cluster
	// Subnets of the VPC, by ID in ascending order.
	Subnets []Subnet
	// FallbackSubnet is used if no subnet qualifies by its tags; "" for none.
	FallbackSubnet string
	// Instances are the existing requested ones, by ID.
	Instances map[string]*ec2types.Instance
	// Unread are IDs of requested instances that EC2 cannot read, as while their zone is disrupted. They may exist: what
	// load balancers have of them stays.
	Unread map[string]error
	// Groups are the cluster's security groups, and those of the Instances.
	Groups Groups
}

// SharedState returns the VPC with the instances of these IDs. Errors carry a class of package cloudapi.
func (r *Reader) SharedState(ctx context.Context, instanceIDs []string) (SharedState, error) {
	s := SharedState{VPC: r.options.VPC, Cluster: r.options.Cluster, FallbackSubnet: r.options.FallbackSubnet}
	var reads panics.Group
	reads.Go(func() (err error) { s.Subnets, err = r.subnets.list.Get(ctx); return err })
	if len(instanceIDs) > 0 && r.options.Instances != nil {
		reads.Go(func() (err error) {
			s.Instances, err = r.options.Instances.Described(ctx, instanceIDs, false)
			s.Unread, err = awserr.SplitUnread(err)
			return err
		})
	}
	err := reads.Wait()
	if err != nil {
		return SharedState{}, err
	}
	s.Groups, err = r.groups.Get(ctx, GroupQuery{IDs: groupIDs(s.Instances)})
	return s, err
}
