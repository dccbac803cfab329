package observe

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"k8s.io/utils/clock"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/refusal"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

const (
	// listAge is the max age of the shared lists. It only has to span a burst: a restart that reconciles every
	// Service within seconds reads them once. It is also the time for which a reconcile may miss that a load
	// balancer was deleted by hand.
	listAge = 30 * time.Second
	// confirmAge is the max age of the shared lists for a creation or a deletion to use them as its own read:
	// they were read for the same Service, or for a concurrent one.
	confirmAge = 5 * time.Second
	// detailAge is the max age of details of each load balancer: listeners, attributes and targets. The audit
	// reads them every 30 minutes, so that they become older only without it.
	detailAge = 40 * time.Minute
	// settleTime bounds how long lists may miss objects that we created, or show objects that we deleted. AWS
	// documents no bound.
	settleTime = 2 * time.Minute
)

// Options of a Store. All are required.
type Options struct {
	API api.ELBV2
	// Groups are the security groups of the VPC.
	Groups *vpc.GroupStore
	// VPC is the ID of the cluster's VPC: objects in other VPCs are ignored.
	VPC     string
	Cluster vpc.Cluster
	Clock   clock.Clock
}

// Store is the snapshot that all Services share: lists of load balancers and target groups, and details that
// need a call for each of them. Before an object is created or deleted, it is read again.
type Store struct {
	describer
	options Options
	// state orders the reads and writes of the tables. Services are its owners.
	state *snapshot.Store
	// balancers and groups are listed. All tables are by ARN.
	balancers *snapshot.Table[model.Balancer]
	groups    *snapshot.Table[model.TargetGroup]
	// listeners and attributes are those of each load balancer, groupAttributes and targets those of
	// each target group. Tags are those of any object.
	listeners       *snapshot.Table[[]model.Listener]
	attributes      *snapshot.Table[map[string]string]
	groupAttributes *snapshot.Table[map[string]string]
	targets         *snapshot.Table[model.Health]
	tags            *snapshot.Table[map[string]string]
	unfinished      *refusal.Memory[model.Listener]
	// linking serializes the updates of which load balancers use a target group.
	linking sync.Mutex
}

// Unfinished returns the listeners that AWS refused, and those that were deleted for others, by the UID of the Service
// and the port.
func (s *Store) Unfinished() *refusal.Memory[model.Listener] { return s.unfinished }

// Index keys of the tables.
const (
	indexName     = "name/"
	indexBalancer = "load balancer/"
	// indexOrphan finds the target groups of the VPC that no load balancer uses.
	indexOrphan  = "orphan"
	indexService = "Service/"
)

// NewStore returns an empty snapshot. It makes no calls.
func NewStore(o Options) *Store {
	s := &Store{describer: describer{api: o.API}, options: o, state: snapshot.NewStore(o.Clock),
		unfinished: refusal.NewMemory[model.Listener](o.Clock)}
	s.balancers = snapshot.NewTable(s.state, snapshot.Kind[model.Balancer]{
		ID: func(b model.Balancer) string { return b.ARN }, List: s.listBalancers, MaxAge: listAge, Settle: settleTime,
		Index: func(b model.Balancer) []string { return []string{indexName + b.Name} },
	})
	s.groups = snapshot.NewTable(s.state, snapshot.Kind[model.TargetGroup]{
		ID: func(g model.TargetGroup) string { return g.ARN }, List: s.listGroups, MaxAge: listAge, Settle: settleTime,
		Index: func(g model.TargetGroup) []string {
			if len(g.Balancers) == 0 && g.VPC == o.VPC {
				return []string{indexOrphan}
			}
			keys := make([]string, len(g.Balancers))
			for i, balancer := range g.Balancers {
				keys[i] = indexBalancer + balancer
			}
			return keys
		},
	})
	s.listeners = newDetails[[]model.Listener](s.state, nil)
	s.attributes = newDetails[map[string]string](s.state, nil)
	s.groupAttributes = newDetails[map[string]string](s.state, nil)
	s.targets = newDetails[model.Health](s.state, nil)
	s.tags = newDetails(s.state, func(tags map[string]string) []string {
		return []string{indexService + tags[names.ServiceTag]}
	})
	s.balancers.AddDetails(s.listeners, s.attributes, s.tags)
	s.groups.AddDetails(s.groupAttributes, s.targets, s.tags)
	return s
}

// newDetails returns a table of the details of objects. It evicts rows that were not used for a day.
func newDetails[T any](state *snapshot.Store, index func(T) []string) *snapshot.Table[T] {
	return snapshot.NewTable(state, snapshot.Kind[T]{
		MaxAge: detailAge, Settle: settleTime, EvictAfter: 24 * time.Hour, Index: index,
	})
}

// listBalancers returns all network load balancers, and reads the unknown tags of those in the VPC.
func (s *Store) listBalancers(ctx context.Context) ([]model.Balancer, error) {
	list, err := s.describeBalancers(ctx)
	if err != nil {
		return nil, err
	}
	var arns []string
	for _, b := range list {
		if b.VPC == s.options.VPC && !s.tags.Fresh(b.ARN) {
			arns = append(arns, b.ARN)
		}
	}
	slices.Sort(arns)
	return list, s.readTags(ctx, arns)
}

// listGroups returns all target groups, and reads the unknown tags of orphans in the VPC: those in use are
// found through their load balancer.
func (s *Store) listGroups(ctx context.Context) ([]model.TargetGroup, error) {
	list, err := s.describeGroups(ctx, &elbv2.DescribeTargetGroupsInput{PageSize: aws.Int32(listPage)})
	if err != nil {
		return nil, err
	}
	var arns []string
	for _, g := range list {
		if len(g.Balancers) == 0 && g.VPC == s.options.VPC && !s.tags.Fresh(g.ARN) {
			arns = append(arns, g.ARN)
		}
	}
	slices.Sort(arns)
	return list, s.readTags(ctx, arns)
}

// readTags reads the tags of objects, as many at once as AWS allows.
func (s *Store) readTags(ctx context.Context, arns []string) error {
	work, ctx := newReads(ctx)
	for chunk := range slices.Chunk(arns, model.MaxTagResources) {
		work.Go(func() error { return s.readTagBatch(ctx, chunk) })
	}
	return work.Wait()
}

func (s *Store) readTagBatch(ctx context.Context, arns []string) error {
	r := s.state.Begin()
	byARN, err := s.describeTags(ctx, arns)
	for arn, tags := range byARN {
		s.tags.Merge(r, arn, tags)
	}
	return err
}

// serviceName identifies a Service as an owner in the store.
func serviceName(key lbcommon.Key) string { return key.Namespace + "/" + key.Name }
