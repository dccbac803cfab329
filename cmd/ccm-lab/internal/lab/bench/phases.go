package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// each calls do for the numbers from 1 to n, with limited concurrency.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	errs := make([]error, n)
	workqueue.ParallelizeUntil(ctx, clients, n, func(i int) { errs[i] = do(ctx, i+1) })
	return errors.Join(errors.Join(errs...), ctx.Err())
}

func (r *runner) createServices(ctx context.Context) (time.Duration, error) {
	err := each(ctx, r.Services, func(ctx context.Context, i int) error {
		return lab.CreateService(ctx, r.cluster.Plane.Client, r.service(i))
	})
	if err != nil {
		return 0, err
	}
	return 0, r.waitFor(ctx, r.servicesAddressed(r.Services))
}

// cloudOf returns the cloud of node or Service number i, from 1: they take turns.
func (r *runner) cloudOf(i int) *lab.Cloud { return r.cluster.Clouds[(i-1)%len(r.cluster.Clouds)] }

// targets is the number of nodes that are targets of load balancers, in all clouds together.
func (r *runner) targets() int { return maxTargets * len(r.cluster.Clouds) }

// service returns Service number i, from 1: two TCP ports, which every kind of load balancer supports.
func (r *runner) service(i int) *v1.Service {
	annotations := map[string]string{}
	provider := r.cloudOf(i).Provider
	if r.Balancers != nil {
		maps.Copy(annotations, r.Balancers.ServiceAnnotations)
	} else {
		maps.Copy(annotations, lab.ServiceAnnotations(provider))
	}
	if len(r.cluster.Clouds) > 1 {
		annotations[intent.KeyProvider] = provider
	}
	if key := lab.TargetAnnotation(provider); key != "" {
		annotations[key] = lab.TargetLabel + "=" + targetValue
	}
	maps.Copy(annotations, r.Annotations)
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.DemoNamespace, Name: fmt.Sprintf("bench-%d", i),
			Annotations: annotations},
		Spec: v1.ServiceSpec{
			Type:           v1.ServiceTypeLoadBalancer,
			IPFamilyPolicy: ptr.To(v1.IPFamilyPolicySingleStack),
			Ports: []v1.ServicePort{
				{Name: "http", Protocol: v1.ProtocolTCP, Port: 80},
				{Name: "https", Protocol: v1.ProtocolTCP, Port: 443},
			},
		},
	}
}

// warmUp creates a Service before the one that is measured, so that the manager's caches are filled as in
// normal operation. Without it the result would depend on the speed of this machine.
func (r *runner) warmUp(ctx context.Context) error {
	if err := r.waitUntilQuiet(ctx, quietPeriod); err != nil {
		return err
	}
	if err := lab.CreateService(ctx, r.cluster.Plane.Client, r.service(r.Services+warmUpService)); err != nil {
		return err
	}
	err := r.waitFor(ctx, r.servicesAddressed(r.Services+1))
	return errors.Join(err, r.waitUntilQuiet(ctx, quietPeriod))
}

// deleteWarmUp deletes the Service that warmUp created.
func (r *runner) deleteWarmUp(ctx context.Context) error {
	if err := r.deleteService(ctx, r.Services+warmUpService, r.Services+1); err != nil {
		return err
	}
	return r.waitUntilQuiet(ctx, quietPeriod)
}

// warmUpService and measuredService are the numbers, after those of all other Services, of two temporary Services.
const (
	warmUpService   = 1
	measuredService = 2
)

// createOne creates one more Service on a running manager.
func (r *runner) createOne(ctx context.Context) (time.Duration, error) {
	if err := lab.CreateService(ctx, r.cluster.Plane.Client, r.service(r.Services+measuredService)); err != nil {
		return 0, err
	}
	return 0, r.waitFor(ctx, r.servicesAddressed(r.Services+2))
}

func (r *runner) deleteOne(ctx context.Context) (time.Duration, error) {
	return 0, r.deleteService(ctx, r.Services+measuredService, r.Services)
}

// deleteService deletes the Service with that number, and waits until the given number is left.
func (r *runner) deleteService(ctx context.Context, number, remaining int) error {
	err := r.cluster.Plane.Client.CoreV1().Services(lab.DemoNamespace).Delete(ctx, r.service(number).Name,
		metav1.DeleteOptions{})
	if err != nil {
		return err
	}
	return r.waitFor(ctx, r.servicesLeft(remaining))
}

// addNode adds one more node, and waits until every load balancer has it as a member.
func (r *runner) addNode(ctx context.Context) (time.Duration, error) {
	r.extraNodes++
	added := lab.DemoMachine(r.Nodes + r.extraNodes)
	if err := r.joinNode(ctx, r.cluster.Cloud, added, true); err != nil {
		return 0, err
	}
	if err := r.waitFor(ctx, r.nodesInitialized(r.Nodes+r.extraNodes)); err != nil {
		return 0, err
	}
	return 0, r.waitFor(ctx, r.memberOfAll(added.Name))
}

func (r *runner) stop(ctx context.Context) error {
	r.cluster.StopManager(ctx)
	return ctx.Err()
}

// stopWhenRecorded stops the manager after it has stored its deferred records.
func (r *runner) stopWhenRecorded(ctx context.Context) error {
	return errors.Join(r.waitUntilQuiet(ctx, recordsPeriod), r.stop(ctx))
}

// start returns when every Service has been ensured again and calls to the cloud have stopped.
func (r *runner) start(ctx context.Context) (time.Duration, error) {
	started := time.Now()
	r.watch.resetEnsured()
	if err := r.cluster.StartManager(ctx); err != nil {
		return 0, err
	}
	if err := r.waitFor(ctx, r.servicesEnsured(ctx, r.Services)); err != nil {
		return 0, err
	}
	// A Service without changes makes no call, so the last call alone does not mark the end.
	ensured := time.Since(started)
	if err := r.waitUntilQuiet(ctx, quietPeriod); err != nil {
		return 0, err
	}
	return max(ensured, r.lastCall(started)), nil
}

// lastCall returns the time of the last call to the cloud, since the start of a phase.
func (r *runner) lastCall(started time.Time) (last time.Duration) {
	for _, log := range r.logs() {
		if calls := log.Calls(); len(calls) > 0 {
			call := calls[len(calls)-1]
			last = max(last, call.At.Add(call.Duration).Sub(started))
		}
	}
	return last
}

// restartForRefresh starts ccm with a short refresh interval, and waits for the refresh that every start
// begins with.
func (r *runner) restartForRefresh(ctx context.Context) error {
	log, err := follow(r.cluster.ManagerOptions.Log)
	if err != nil {
		return err
	}
	r.cluster.StopManager(ctx)
	if err := r.cluster.StartManager(ctx, "--node-status-update-frequency="+refreshEvery.String()); err != nil {
		return err
	}
	_, err = r.waitForRefresh(ctx, log)
	return err
}

// refresh returns after the next refresh of all nodes, with the duration that the framework logged.
func (r *runner) refresh(ctx context.Context) (time.Duration, error) {
	log, err := follow(r.cluster.ManagerOptions.Log)
	if err != nil {
		return 0, err
	}
	return r.waitForRefresh(ctx, log)
}

func (r *runner) waitForRefresh(ctx context.Context, log *follower) (took time.Duration, err error) {
	var readErr error
	err = r.waitFor(ctx, goal{
		description: "the next refresh of " + count(r.Nodes, "node") + ", every " + refreshEvery.String(),
		missing: func() int {
			var lines []string
			lines, readErr = log.lines()
			for _, line := range lines {
				if nodes, d, ok := parseRefresh(line); ok && nodes >= r.Nodes {
					took = d
				}
			}
			return boolToInt(took == 0 && readErr == nil)
		}})
	return took, errors.Join(err, readErr)
}

func (r *runner) deleteAll(ctx context.Context) (time.Duration, error) {
	client := r.cluster.Plane.Client.CoreV1()
	err := each(ctx, r.Services, func(ctx context.Context, i int) error {
		return client.Services(lab.DemoNamespace).Delete(ctx, r.service(i).Name, metav1.DeleteOptions{})
	})
	if err != nil {
		return 0, err
	}
	if err := r.waitFor(ctx, r.servicesLeft(0)); err != nil {
		return 0, err
	}
	for _, cloud := range r.cluster.Clouds {
		if orphans := cloud.World.LoadBalancers(); len(orphans) > 0 {
			return 0, fmt.Errorf("the Services are deleted, but %s of %s left, the first is %s",
				count(len(orphans), "load balancer"), cloud.Provider, orphans[0].Name)
		}
	}
	err = each(ctx, r.Nodes+r.extraNodes, func(ctx context.Context, i int) error {
		return client.Nodes().Delete(ctx, lab.DemoMachine(i).Name, metav1.DeleteOptions{})
	})
	return 0, err
}

// restartWithRoutes leaves one node, with its pod route, to a manager with the route controller.
func (r *runner) restartWithRoutes(ctx context.Context) error {
	r.cluster.StopManager(ctx)
	routes := len(r.cluster.Cloud.World.Routes())
	// The first machines have their pod ranges in the phase of routes already.
	routed := lab.DemoMachine(lab.RoutedNodes + 1)
	routed.Name = "node-routed" // The machines of the deleted nodes still run.
	if err := r.joinNode(ctx, r.cluster.Cloud, routed, false); err != nil {
		return err
	}
	if err := r.cluster.StartManager(ctx, "--configure-cloud-routes=true", "--cluster-cidr="+lab.PodRange); err != nil {
		return err
	}
	// The node gets its provider ID before its route. The nodes of the phase of routes have theirs.
	err := r.waitFor(ctx, goal{description: "a route to the node's pods", missing: func() int {
		return boolToInt(len(r.cluster.Cloud.World.Routes()) <= routes)
	}})
	return errors.Join(err, r.waitUntilQuiet(ctx, quietPeriod))
}

// joinNode launches the machine in the cloud and registers its node, optionally as a target of load balancers and with
// further changes.
func (r *runner) joinNode(ctx context.Context, cloud *lab.Cloud, m world.Machine, target bool,
	changes ...func(*v1.Node)) error {
	node, err := cloud.World.Launch(m)
	if err != nil {
		return err
	}
	switch {
	case target:
		metav1.SetMetaDataLabel(&node.ObjectMeta, lab.TargetLabel, targetValue)
	case lab.TargetAnnotation(cloud.Provider) == "":
		metav1.SetMetaDataLabel(&node.ObjectMeta, v1.LabelNodeExcludeBalancers, "")
	}
	for _, change := range changes {
		change(node)
	}
	return lab.RegisterNode(ctx, r.cluster.Plane.Client, node)
}

// idle waits.
func (r *runner) idle(ctx context.Context) (time.Duration, error) {
	select {
	case <-time.After(idle):
		return idle, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// CloudsPhases are the phases of a benchmark of several clouds in one manager. In the first one nodes have the label of
// their cloud, in the second one they have not, and all clouds are asked for them.
func CloudsPhases() []string {
	return []string{lab.PhaseJoin, lab.PhaseJoinUnlabeled, lab.PhaseCreateAll, lab.PhaseRestart, lab.PhaseRestartAgain,
		lab.PhaseDeleteAll}
}
