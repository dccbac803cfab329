// Package orphans compares the inventory of a cloud with the cluster, and deletes orphans: objects with this cluster's
// mark that no Service or node needs.
package orphans

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// ErrUnsupported is the error about a provider that cannot list its objects.
var ErrUnsupported = errors.New("the provider cannot list its objects")

// Session is the access to a cluster and its cloud.
type Session struct {
	Cloud  cloudprovider.Interface
	Client kubernetes.Interface
	// ClusterName is the --cluster-name flag, ClusterUID the UID of the namespace kube-system.
	ClusterName, ClusterUID string
	// Services lists all Services of the cluster, of every type, as loadbalancer.Classes.Select returns them, and Nodes
	// its nodes. Their errors are for users.
	Services func(ctx context.Context) ([]*v1.Service, error)
	Nodes    func(ctx context.Context) ([]*v1.Node, error)
	// Parts includes the parts of load balancers.
	Parts bool
	// Plan returns the plan or the error of each Service; nil if Services are not compared with the cloud.
	Plan func(ctx context.Context, services []*v1.Service, nodes []*v1.Node) ([]plan.Plan, []error)
	// PlanRoutes returns the plan of the routes; nil if they are not planned.
	PlanRoutes func(ctx context.Context, nodes []*v1.Node) (plan.Plan, error)
	// MinAge is the age from which an orphan with a creation date is deleted, at the time of Now.
	MinAge time.Duration
	Now    func() time.Time
}

// Audit is the result of a comparison.
type Audit struct {
	Inventory inventory.Inventory
	Report    inventory.Report
	// Failures are lines about what could not be listed or compared.
	Failures []string

	session Session
}

// Supported reports whether the provider can list its objects.
func Supported(cloud cloudprovider.Interface) bool {
	_, ok := listerOf(cloud)
	return ok
}

func listerOf(cloud cloudprovider.Interface) (inventory.Lister, bool) {
	provider, ok := cloud.(inventory.Provider)
	if !ok {
		return nil, false
	}
	return provider.Inventory()
}

// Run lists the cloud before the cluster, so that an object without a Service belongs to a deleted one, and classifies
// the objects. It changes nothing.
func Run(ctx context.Context, s Session) (*Audit, error) {
	lister, ok := listerOf(s.Cloud)
	if !ok {
		return nil, ErrUnsupported
	}
	a := &Audit{session: s}
	a.Inventory = lister.ListInventory(ctx, inventory.Request{ClusterName: s.ClusterName,
		ClusterUID: s.ClusterUID, Parts: s.Parts})
	in := inventory.Input{Inventory: a.Inventory, ClusterUID: s.ClusterUID, Now: s.Now(), MinAge: s.MinAge}
	for _, k := range a.Inventory.Kinds {
		if k.Err != nil {
			a.addFailure("%s cannot be listed: %s", k.Name, cloudapi.OneLine(k.Err))
		}
	}
	nodes, nodesErr := s.Nodes(ctx)
	if nodesErr != nil {
		a.addFailure("%s", cloudapi.OneLine(nodesErr))
	}
	services, err := s.Services(ctx)
	if err != nil {
		in.ServicesErr = err
		a.addFailure("%s", cloudapi.OneLine(err))
	} else {
		in.Services = a.planServices(ctx, services, nodes, nodesErr)
	}
	a.planRoutes(ctx, &in, nodes, nodesErr)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("the audit was interrupted: %w", err)
	}
	a.Report = inventory.Classify(in)
	return a, nil
}

// planServices returns the Services, with plans of those that have or need a load balancer. Without nodes there are no
// plans: they would remove all members.
func (a *Audit) planServices(ctx context.Context, services []*v1.Service, nodes []*v1.Node,
	nodesErr error) []inventory.Service {
	s := a.session
	list := make([]inventory.Service, len(services))
	var planned []*v1.Service
	var indexes []int
	for i, service := range services {
		list[i] = Describe(ctx, s.Cloud, s.ClusterName, service)
		switch {
		case !list[i].Reconciled || s.Plan == nil:
		case nodesErr != nil:
			list[i].Err = nodesErr
		default:
			planned, indexes = append(planned, service), append(indexes, i)
		}
	}
	if len(planned) == 0 {
		return list
	}
	plans, errs := s.Plan(ctx, planned, nodes)
	for n, i := range indexes {
		if list[i].Err = errs[n]; errs[n] != nil {
			a.addFailure("Service %s: %s", list[i], cloudapi.OneLine(errs[n]))
			continue
		}
		list[i].Plan = &plans[n]
	}
	return list
}

// Describe returns what the inventory needs of a Service, which is as loadbalancer.Classes.Select returns it. It makes
// no call.
func Describe(ctx context.Context, cloud cloudprovider.Interface, clusterName string,
	service *v1.Service) inventory.Service {
	described := inventory.Service{
		NamespacedName: types.NamespacedName{Namespace: service.Namespace, Name: service.Name},
		UID:            string(service.UID),
		Reconciled:     loadbalancer.IsReconciled(service),
	}
	described.OtherController = !described.Reconciled && service.Spec.LoadBalancerClass != nil
	if balancers, ok := cloud.LoadBalancer(); ok {
		described.LoadBalancer = balancers.GetLoadBalancerName(ctx, clusterName, service)
	}
	return described
}

func (a *Audit) planRoutes(ctx context.Context, in *inventory.Input, nodes []*v1.Node, nodesErr error) {
	if a.session.PlanRoutes == nil {
		return
	}
	if nodesErr != nil {
		in.RoutesErr = nodesErr
		return
	}
	routes, err := a.session.PlanRoutes(ctx, nodes)
	if err != nil {
		in.RoutesErr = err
		a.addFailure("routes: %s", cloudapi.OneLine(err))
		return
	}
	in.Routes = &routes
}

func (a *Audit) addFailure(format string, args ...any) {
	a.Failures = append(a.Failures, fmt.Sprintf(format, args...))
}
