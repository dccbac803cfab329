package nlb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
)

// LoadBalancers returns the load balancers in portable terms.
func (t *Tx) LoadBalancers() []world.LoadBalancer {
	var out []world.LoadBalancer
	for _, b := range t.balancers {
		out = append(out, t.toWorld(b))
	}
	return out
}

func (t *Tx) toWorld(b *balancer) world.LoadBalancer {
	out := world.LoadBalancer{Name: b.name, Internal: b.scheme == elb.SchemeInternal,
		Addresses: []string{t.balancerDNS(b)}}
	for _, l := range t.listenersOf(b.arn) {
		listener := world.Listener{Port: l.port, TLS: l.protocol == "TLS"}
		var memberGroups []string
		for _, arn := range l.targetGroups() {
			g := t.targetGroups[arn]
			listener.MemberPort, listener.Draining = g.port, g.draining()
			members, groups := t.membersOf(b, g)
			listener.Members, memberGroups = append(listener.Members, members...), append(memberGroups, groups...)
		}
		for _, protocol := range transports(l.protocol) {
			listener.Protocol = protocol
			listener.SourceRanges = t.sourceRanges(b, l, listener.MemberPort, protocol, memberGroups)
			out.Listeners = append(out.Listeners, listener)
		}
	}
	return out
}

// draining returns the deregistration delay, and 0 for the default one.
func (g *targetGroup) draining() time.Duration {
	seconds, _ := strconv.Atoi(g.attributes[deregistrationDelay]) // It was validated when it was set.
	if seconds == defaultDeregistrationDelay {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// membersOf returns the reachable nodes of a target group, and their security groups.
func (t *Tx) membersOf(b *balancer, g *targetGroup) (nodes, groups []string) {
	reach := t.newReach(b, g)
	var lastGroups []string
	for _, x := range g.targets {
		if !x.drained.IsZero() {
			continue
		}
		if reach.includes(x) {
			nodes = append(nodes, t.NodeOf(x.id))
		}
		if n := t.InterfaceOf(x.id); n != nil && !slices.Equal(lastGroups, n.Groups) {
			lastGroups = n.Groups
			groups = append(groups, lastGroups...)
		}
	}
	return nodes, groups
}

// sourceRanges returns the networks that may connect: by the load balancer's own security groups, or without any, by
// the client rules in the groups of its targets.
func (t *Tx) sourceRanges(
	b *balancer, l *listener, memberPort int32, transport v1.Protocol, memberGroups []string,
) []string {
	protocol := strings.ToLower(string(transport))
	if b.hasGroups {
		return t.RangesOf(b.groups, protocol, l.port, func(*ec2.Rule) bool { return true })
	}
	if len(memberGroups) == 0 {
		return nil // No rule applies yet.
	}
	slices.Sort(memberGroups)
	return t.RangesOf(slices.Compact(memberGroups), protocol, memberPort,
		func(r *ec2.Rule) bool { return !strings.HasPrefix(r.Description, healthRule) })
}

// healthRule is the prefix of the description of rules on nodes for health checks, as all cloud controller
// managers for AWS write it.
const healthRule = "kubernetes.io/rule/nlb/health"

// Delete removes a load balancer; its target groups stay. It reports whether there was one.
func (t *Tx) Delete(name string) bool {
	b := t.balancerByName(name)
	if b != nil {
		t.removeBalancer(b)
	}
	return b != nil
}

// Count counts the objects by kind.
func (t *Tx) Count(out map[string]int) {
	out["load-balancers"] = len(t.balancers)
	out["listeners"] = len(t.listeners)
	out["target-groups"] = len(t.targetGroups)
	for _, g := range t.targetGroups {
		out["targets"] += len(t.registeredTargets(g))
	}
}

// Names of the fields that Drift changes, in plans and in AWS' API.
const (
	driftInterval = "healthCheckIntervalSeconds"
	driftTargets  = "targets"
)

// Drift changes the health check's interval of the first target group of a load balancer and removes its first
// target. It returns the names of these fields, none if there is no such load balancer.
func (t *Tx) Drift(name string) ([]string, error) {
	b := t.balancerByName(name)
	if b == nil {
		return nil, nil
	}
	listeners := t.listenersOf(b.arn)
	if len(listeners) == 0 {
		return nil, fmt.Errorf("load balancer %q has no listener to change", b.name)
	}
	fields := []string{driftInterval}
	g := t.targetGroups[listeners[0].targetGroups()[0]]
	g.check.HealthCheckIntervalSeconds = elb.DriftedInterval(g.check.HealthCheckIntervalSeconds)
	if len(g.targets) > 0 {
		g.targets = g.targets[1:]
		fields = append(fields, driftTargets)
	}
	return fields, nil
}
