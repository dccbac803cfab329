package classic

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type instancesInput struct {
	balancerRef
	Instances []instanceRef
}

type instancesOutput struct {
	Instances query.Members[instanceRef] `xml:"Instances"`
}

// checkInstances rejects instances that do not exist.
func (t *Tx) checkInstances(refs []instanceRef) error {
	for _, r := range refs {
		if i := t.Instances[r.InstanceID]; i == nil || i.State == ec2.StateTerminated {
			return core.Refuse("InvalidInstance", "Could not find EC2 instance %s.", r.InstanceID)
		}
	}
	return nil
}

func (t *Tx) registerInstances(b *balancer, in instancesInput) (out instancesOutput, err error) {
	if err := t.checkInstances(in.Instances); err != nil {
		return out, err
	}
	for _, r := range in.Instances {
		if t.Instances[r.InstanceID].VPC != b.VPC {
			return out, core.Refuse("InvalidInstance", "EC2 instance %s is not in the same VPC as ELB.", r.InstanceID)
		}
	}
	for _, r := range in.Instances {
		if !slices.Contains(b.instances, r.InstanceID) {
			b.instances = append(b.instances, r.InstanceID)
			b.registered[r.InstanceID] = t.Now
		}
	}
	return instancesOutput{instanceRefs(b.instances)}, nil
}

func (t *Tx) deregisterInstances(b *balancer, in instancesInput) (out instancesOutput, err error) {
	for _, r := range in.Instances {
		if !slices.Contains(b.instances, r.InstanceID) {
			return out, core.Refuse("InvalidInstance", "Could not find EC2 instance %s.", r.InstanceID)
		}
	}
	b.instances = slices.DeleteFunc(b.instances,
		func(id string) bool { return slices.Contains(in.Instances, instanceRef{id}) })
	return instancesOutput{instanceRefs(b.instances)}, nil
}

type healthView struct {
	ID          string `xml:"InstanceId"`
	State       string `xml:"State"`
	Reason      string `xml:"ReasonCode"`
	Description string `xml:"Description"`
}

func (t *Tx) describeHealth(b *balancer, in instancesInput) (out struct {
	States query.Members[healthView] `xml:"InstanceStates"`
}, err error) {
	ids := b.instances
	if len(in.Instances) > 0 {
		if err := t.checkInstances(in.Instances); err != nil {
			return out, err
		}
		ids = nil
		for _, r := range in.Instances {
			ids = append(ids, r.InstanceID)
		}
	}
	for _, id := range ids {
		v := healthView{id, "InService", "N/A", "N/A"}
		switch {
		case !slices.Contains(b.instances, id):
			v = healthView{id, "OutOfService", "Instance", "Instance is not currently registered with the LoadBalancer."}
		case t.StateOf(t.Instances[id]) != ec2.StateRunning:
			v = healthView{id, "OutOfService", "Instance", "Instance is in stopped state."}
		case t.Now.Before(b.registered[id].Add(t.Options.HealthTime)):
			v = healthView{id, "OutOfService", "ELB", "Instance registration is still in progress."}
		case t.Unhealthy[t.NodeOf(id)], !t.reachable(b, id):
			v = healthView{id, "OutOfService", "Instance",
				"Instance has failed at least the UnhealthyThreshold number of health checks consecutively."}
		}
		out.States.Member = append(out.States.Member, v)
	}
	return out, nil
}

// reachable reports whether a classic load balancer reaches an instance on all of its listeners' ports and with its
// checks.
func (t *Tx) reachable(b *balancer, instanceID string) bool {
	i := t.Instances[instanceID]
	if i == nil || t.Primary(i) == nil {
		return false
	}
	peer, groups := t.PeerOf(b.ENIs, b.groups), t.Primary(i).Groups
	if parts := checkTarget.FindStringSubmatch(b.check.Target); parts != nil {
		if port, err := strconv.ParseInt(parts[1]+parts[2], 10, 32); err == nil &&
			!t.Admits(groups, peer, "tcp", int32(port)) {
			return false
		}
	}
	return !slices.ContainsFunc(b.listeners,
		func(l *listener) bool { return !t.Admits(groups, peer, "tcp", l.InstancePort) })
}

// checkTarget is a health check's protocol and port, and for HTTP a path.
var checkTarget = regexp.MustCompile(`^(?i:(?:TCP|SSL):(\d{1,5})|(?:HTTP|HTTPS):(\d{1,5})/.*)$`)

func (t *Tx) configureCheck(b *balancer, in struct {
	balancerRef
	HealthCheck healthCheck
}) (out struct {
	HealthCheck healthCheck
}, err error) {
	c := in.HealthCheck
	parts := checkTarget.FindStringSubmatch(c.Target)
	if parts == nil {
		return out, core.Validation("HealthCheck Target must be specified as PROTOCOL:PORT, or for HTTP and HTTPS as "+
			"PROTOCOL:PORT/PATH: %s", c.Target)
	}
	if port, err := strconv.Atoi(parts[1] + parts[2]); err != nil || port < 1 || port > 65535 {
		return out, core.Validation("HealthCheck port must be between 1 and 65535")
	}
	if c.Timeout >= c.Interval {
		return out, core.Validation("HealthCheck timeout must be less than interval")
	}
	b.check, out.HealthCheck = c, c
	return out, nil
}

// RemoveInstance removes a terminated instance from all load balancers.
func (t *Tx) RemoveInstance(id string) {
	for _, b := range t.balancers {
		b.instances = slices.DeleteFunc(b.instances, func(member string) bool { return member == id })
	}
}
