package compare

import (
	"context"
	"fmt"
	"slices"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

const groupRoutes = "Routes"

// Pod ranges of the nodes of the scenarios, outside those of the shared nodes.
const (
	createdRange     = "10.244.100.0/24"
	removedRange     = "10.244.101.0/24"
	conflictingRange = "10.244.102.0/24"
)

func routeScenarios() []Scenario {
	scenario := func(id, title, detail string, run trialFunc) Scenario {
		return Scenario{
			ID: "route." + id, Group: groupRoutes, Title: title, Detail: detail, Routes: true, Run: run,
			Declared: func(d provider.Descriptor) report.Verdict {
				if d.Capabilities.Routes {
					return report.Works
				}
				return report.NotApplicable
			},
		}
	}
	return []Scenario{
		scenario("created", "Route created", "A node's pod range gets a route to its machine.", routeCreated),
		scenario("removed", "Route removed", "The route of a deleted node is deleted.", routeRemoved),
		scenario("conflict", "Conflicting route", "A route of another owner stays when a node has the same pod range.",
			routeConflict),
	}
}

// describeRoute describes the routes in the cloud to a destination.
func (t *Trial) describeRoute(destination string) string {
	return describeRoute(t.cluster.Cloud.World.Routes(), destination)
}

// describeRoute describes the routes to a destination. If one of them is another owner's, it describes that one.
func describeRoute(routes []world.Route, destination string) string {
	out := "none"
	for _, r := range routes {
		switch {
		case r.Destination != destination:
		case !r.Owned:
			return "another owner's"
		case r.Blackhole:
			out = "to a machine that does not exist"
		default:
			out = "to " + r.NodeName
		}
	}
	return out
}

// joinWithRoute joins a node with a pod range and waits for a route to it.
func (t *Trial) joinWithRoute(ctx context.Context, name, podRange string) (node string, err error) {
	t.begin()
	if node, err = t.join(ctx, name, podRange); err != nil {
		return "", err
	}
	err = t.waitFor(ctx, t.scaled(nodeTimeout), func(context.Context) (bool, error) {
		return t.describeRoute(podRange) == "to "+node || t.unsupported(withoutRoutes) != "", nil
	})
	t.evidence.After = objects(world.ChangedObjects(t.before, t.inventory()))
	return node, err
}

// decideRoute returns the verdict about a route.
func (t *Trial) decideRoute(ctx context.Context, node string, checks ...report.Check) (report.Verdict, string, error) {
	if line := t.unsupported(withoutRoutes); line != "" {
		return report.NotApplicable, "The manager does not support routes: " + line, nil
	}
	_, warning, err := t.observeNode(ctx, node)
	if err != nil {
		return "", "", err
	}
	verdict, summary := decide(observation{exists: true, effect: checks, warning: warning})
	return verdict, summary, nil
}

func routeCreated(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	node, err := t.joinWithRoute(ctx, "routed", createdRange)
	if err != nil {
		return "", "", err
	}
	return t.decideRoute(ctx, node, t.check("route to "+createdRange, "to "+node, t.describeRoute(createdRange)))
}

func routeRemoved(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	node, err := t.joinWithRoute(ctx, "unrouted", removedRange)
	if err != nil {
		return "", "", err
	}
	created := t.check("route to "+removedRange, "to "+node, t.describeRoute(removedRange))
	if err := t.live.DeleteNode(ctx, node); err != nil {
		return "", "", err
	}
	err = t.waitFor(ctx, t.scaled(nodeTimeout), func(context.Context) (bool, error) {
		return !created.OK || t.describeRoute(removedRange) == "none", nil
	})
	if err != nil {
		return "", "", err
	}
	return t.decideRoute(ctx, node, created, t.check("route after the deletion", "none", t.describeRoute(removedRange)))
}

// routeConflict adds a route that another tool owns. It exists before the scenario, and must stay.
func routeConflict(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	if line := t.unsupported(withoutRoutes); line != "" {
		return report.NotApplicable, "The manager does not support routes: " + line, nil
	}
	if err := t.cluster.Cloud.World.AddForeignRoute(conflictingRange); err != nil {
		return "", "", fmt.Errorf("adding a route: %w", err)
	}
	t.before = t.inventory()
	t.begin()
	node, err := t.join(ctx, "conflict", conflictingRange)
	if err != nil {
		return "", "", err
	}
	err = t.waitFor(ctx, conflictTime, func(context.Context) (bool, error) {
		return t.describeRoute(conflictingRange) != "another owner's", nil
	})
	if err != nil {
		return "", "", err
	}
	foreign := t.check("route to "+conflictingRange, "another owner's", t.describeRoute(conflictingRange))
	duplicate := t.check("the node's own route", "none", t.routeOf(node))
	verdict, summary, err := t.decideRoute(ctx, node, foreign)
	if verdict == report.Works && !duplicate.OK {
		return report.WorksDifferently, "The route stays, and the node gets a second one to the same destination.", nil
	}
	return verdict, summary, err
}

// conflictTime is the time in which a foreign route must not change: several passes of the route controller.
const conflictTime = nodeTimeout / 2

// routeOf returns the destination of a route to a node.
func (t *Trial) routeOf(node string) string {
	routes := t.cluster.Cloud.World.Routes()
	if i := slices.IndexFunc(routes, func(r world.Route) bool { return r.NodeName == node }); i >= 0 {
		return routes[i].Destination
	}
	return "none"
}
