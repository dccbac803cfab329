package sim

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

func classicInstanceOperations() []operation {
	return []operation{
		write("RegisterInstancesWithLoadBalancer", on((*tx).registerInstances)),
		write("DeregisterInstancesFromLoadBalancer", on((*tx).deregisterInstances)),
		read("DescribeInstanceHealth", on((*tx).describeHealth)),
	}
}

type classicInstancesInput struct {
	ofClassic
	Instances []instanceRef
}

type classicInstancesOutput struct {
	Instances query.Members[instanceRef] `xml:"Instances"`
}

// checkInstances refuses instances that do not exist.
func (t *tx) checkInstances(refs []instanceRef) error {
	for _, r := range refs {
		if i := t.instances[r.InstanceID]; i == nil || i.state == stateTerminated {
			return refuse("InvalidInstance", "Could not find EC2 instance %s.", r.InstanceID)
		}
	}
	return nil
}

func (t *tx) registerInstances(b *classic, in classicInstancesInput) (out classicInstancesOutput, err error) {
	if err := t.checkInstances(in.Instances); err != nil {
		return out, err
	}
	for _, r := range in.Instances {
		if t.instances[r.InstanceID].vpc != b.vpc {
			return out, refuse("InvalidInstance", "EC2 instance %s is not in the same VPC as ELB.", r.InstanceID)
		}
	}
	for _, r := range in.Instances {
		if !slices.Contains(b.instances, r.InstanceID) {
			b.instances = append(b.instances, r.InstanceID)
			b.registered[r.InstanceID] = t.now
		}
	}
	return classicInstancesOutput{refsOf(b.instances)}, nil
}

func (t *tx) deregisterInstances(b *classic, in classicInstancesInput) (out classicInstancesOutput, err error) {
	for _, r := range in.Instances {
		if !slices.Contains(b.instances, r.InstanceID) {
			return out, refuse("InvalidInstance", "Could not find EC2 instance %s.", r.InstanceID)
		}
	}
	b.instances = slices.DeleteFunc(b.instances,
		func(id string) bool { return slices.Contains(in.Instances, instanceRef{id}) })
	return classicInstancesOutput{refsOf(b.instances)}, nil
}

type classicHealthView struct {
	ID          string `xml:"InstanceId"`
	State       string `xml:"State"`
	Reason      string `xml:"ReasonCode"`
	Description string `xml:"Description"`
}

func (t *tx) describeHealth(b *classic, in classicInstancesInput) (out struct {
	States query.Members[classicHealthView] `xml:"InstanceStates"`
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
		v := classicHealthView{id, "InService", "N/A", "N/A"}
		switch {
		case !slices.Contains(b.instances, id):
			v = classicHealthView{id, "OutOfService", "Instance", "Instance is not currently registered with the LoadBalancer."}
		case t.stateOf(t.instances[id]) != stateRunning:
			v = classicHealthView{id, "OutOfService", "Instance", "Instance is in stopped state."}
		case t.now.Before(b.registered[id].Add(t.o.HealthTime)):
			v = classicHealthView{id, "OutOfService", "ELB", "Instance registration is still in progress."}
		case t.unhealthy[t.nodeOf(id)], !t.reachable(b, id):
			v = classicHealthView{id, "OutOfService", "Instance",
				"Instance has failed at least the UnhealthyThreshold number of health checks consecutively."}
		}
		out.States.Member = append(out.States.Member, v)
	}
	return out, nil
}

type classicCheck struct {
	Target             string
	Interval           int32
	Timeout            int32
	UnhealthyThreshold int32
	HealthyThreshold   int32
}

// checkTarget is a health check's protocol and port, and for HTTP a path.
var checkTarget = regexp.MustCompile(`^(?i:(?:TCP|SSL):(\d{1,5})|(?:HTTP|HTTPS):(\d{1,5})/.*)$`)

func (t *tx) configureCheck(b *classic, in struct {
	ofClassic
	HealthCheck classicCheck
}) (out struct {
	HealthCheck classicCheck
}, err error) {
	c := in.HealthCheck
	parts := checkTarget.FindStringSubmatch(c.Target)
	if parts == nil {
		return out, validation("HealthCheck Target must be specified as PROTOCOL:PORT, or for HTTP and HTTPS as "+
			"PROTOCOL:PORT/PATH: %s", c.Target)
	}
	if port, err := strconv.Atoi(parts[1] + parts[2]); err != nil || port < 1 || port > 65535 {
		return out, validation("HealthCheck port must be between 1 and 65535")
	}
	for _, x := range []struct {
		name               string
		value, least, most int32
	}{
		{"Interval", c.Interval, 5, 300}, {"Timeout", c.Timeout, 2, 60},
		{"HealthyThreshold", c.HealthyThreshold, 2, 10}, {"UnhealthyThreshold", c.UnhealthyThreshold, 2, 10},
	} {
		if x.value < x.least || x.value > x.most {
			return out, validation("HealthCheck %s must be between %d and %d", x.name, x.least, x.most)
		}
	}
	if c.Timeout >= c.Interval {
		return out, validation("HealthCheck timeout must be less than interval")
	}
	b.check, out.HealthCheck = c, c
	return out, nil
}
