package classic

import (
	"slices"
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
	out := world.LoadBalancer{Name: b.name, Internal: b.scheme == elb.SchemeInternal, Addresses: []string{b.dns}}
	var members []string
	for _, id := range b.instances {
		if t.reachable(b, id) {
			members = append(members, t.NodeOf(id))
		}
	}
	var drain time.Duration
	if d := b.attributes.ConnectionDraining; d.Enabled {
		drain = time.Duration(*d.Timeout) * time.Second
	}
	for _, l := range b.listeners {
		out.Listeners = append(out.Listeners, world.Listener{
			TLS:              l.Protocol == "SSL" || l.Protocol == "HTTPS",
			ForwardedHeaders: l.Protocol == "HTTP" || l.Protocol == "HTTPS", Draining: drain,
			Protocol: v1.ProtocolTCP, Port: l.LoadBalancerPort, MemberPort: l.InstancePort, Members: slices.Clone(members),
			SourceRanges: t.RangesOf(b.groups, "tcp", l.LoadBalancerPort, func(*ec2.Rule) bool { return true }),
		})
	}
	return out
}

// Delete removes a load balancer. It reports whether there was one.
func (t *Tx) Delete(name string) bool {
	b := t.balancers[name]
	if b != nil {
		t.removeBalancer(b)
	}
	return b != nil
}

// Count counts the objects by kind.
func (t *Tx) Count(out map[string]int) {
	out["classic-load-balancers"] = len(t.balancers)
	for _, b := range t.balancers {
		out["classic-listeners"] += len(b.listeners)
		out["classic-registrations"] += len(b.instances)
		out["classic-policies"] += len(b.policies)
	}
}

// Names of the fields that Drift changes, in plans and in AWS' API.
const (
	driftInterval  = "interval"
	driftInstances = "instances"
)

// Drift changes the interval of the health check of a load balancer and removes its first instance. It returns
// the names of these fields, none if there is no such load balancer.
func (t *Tx) Drift(name string) ([]string, error) {
	b := t.balancers[name]
	if b == nil {
		return nil, nil
	}
	fields := []string{driftInterval}
	b.check.Interval = elb.DriftedInterval(b.check.Interval)
	if len(b.instances) > 0 {
		b.instances = b.instances[1:]
		fields = append(fields, driftInstances)
	}
	return fields, nil
}
