package nlb

import (
	"maps"
	"slices"
	"strconv"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type attributesOutput struct {
	Attributes query.Members[elb.Attribute] `xml:"Attributes"`
}

// balancerAttributes returns a network load balancer's attributes with their defaults.
func balancerAttributes() map[string]string {
	return map[string]string{
		accessLogs: "false", accessLogsBucket: "", "access_logs.s3.prefix": "",
		"deletion_protection.enabled": "false", crossZone: "false",
		"ipv6.deny_all_igw_traffic":        "false",
		"dns_record.client_routing_policy": "any_availability_zone", "zonal_shift.config.enabled": "false",
		"secondary_ips.auto_assigned.per_subnet": "0",
	}
}

// Attributes with rules of their own, and their values.
const (
	// deregistrationDelay has the seconds that a target drains.
	deregistrationDelay        = "deregistration_delay.timeout_seconds"
	defaultDeregistrationDelay = 300
	preserveClientIP           = "preserve_client_ip.enabled"
	crossZone                  = "load_balancing.cross_zone.enabled"
	// likeLoadBalancer is the value of crossZone for a target group with the setting of its load balancer.
	likeLoadBalancer = "use_load_balancer_configuration"
	accessLogs       = "access_logs.s3.enabled"
	accessLogsBucket = "access_logs.s3.bucket"
)

// groupAttributes returns a target group's attributes with their defaults, for network load balancers.
func groupAttributes(protocol, targetType string) map[string]string {
	preserve := "false"
	if targetType == "instance" || protocol == "UDP" || protocol == "TCP_UDP" {
		preserve = "true"
	}
	out := map[string]string{
		"stickiness.enabled":        "false",
		"stickiness.type":           "source_ip",
		crossZone:                   likeLoadBalancer,
		"proxy_protocol_v2.enabled": "false",
		preserveClientIP:            preserve,
		deregistrationDelay:         strconv.Itoa(defaultDeregistrationDelay),
		"deregistration_delay.connection_termination.enabled":                            "false",
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 "1",
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            "off",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      "1",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",
	}
	if protocol == "TCP" || protocol == "TLS" {
		out["target_health_state.unhealthy.connection_termination.enabled"] = "true"
		out["target_health_state.unhealthy.draining_interval_seconds"] = "0"
	}
	return out
}

// listenerAttributes returns a listener's attributes with their defaults.
func listenerAttributes(protocol string) map[string]string {
	if protocol == "TCP" {
		return map[string]string{"tcp.idle_timeout.seconds": "350"}
	}
	return map[string]string{}
}

// attributeBounds are the bounds of attributes that are numbers.
var attributeBounds = map[string][2]int{
	deregistrationDelay:                                                         {0, 3600},
	"tcp.idle_timeout.seconds":                                                  {60, 6000},
	"secondary_ips.auto_assigned.per_subnet":                                    {0, 7},
	"target_health_state.unhealthy.draining_interval_seconds":                   {0, 360000},
	"target_group_health.dns_failover.minimum_healthy_targets.count":            {1, 5000},
	"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count": {1, 5000},
}

// attributeValues are the values of attributes with a closed set.
var attributeValues = map[string][]string{
	"dns_record.client_routing_policy": {"any_availability_zone", "availability_zone_affinity",
		"partial_availability_zone_affinity"},
	"stickiness.type": {"source_ip"},
}

// changeAttributes returns the attributes of an object after a change. It rejects attributes that the object does not
// have, and invalid values.
func changeAttributes(attributes map[string]string, changes []elb.Attribute) (map[string]string, error) {
	changed := maps.Clone(attributes)
	for _, a := range changes {
		old, known := attributes[a.Key]
		if !known {
			return nil, refuseConfiguration("The attribute key '%s' is not recognized or is not supported for this resource",
				a.Key)
		}
		_, isGroup := attributes[preserveClientIP]
		if err := checkAttribute(a, old, isGroup); err != nil {
			return nil, err
		}
		changed[a.Key] = a.Value
	}
	return changed, nil
}

// checkAttribute rejects a value that an attribute cannot have instead of the old one.
func checkAttribute(a elb.Attribute, old string, isGroup bool) error {
	if bounds, ok := attributeBounds[a.Key]; ok {
		if n, err := strconv.Atoi(a.Value); err != nil || n < bounds[0] || n > bounds[1] {
			return refuseConfiguration("The value of '%s' must be between %d and %d inclusive", a.Key, bounds[0], bounds[1])
		}
	}
	if values, ok := attributeValues[a.Key]; ok && !slices.Contains(values, a.Value) {
		return refuseConfiguration("The value '%s' is not valid for '%s'", a.Value, a.Key)
	}
	isSwitch := old == "true" || old == "false" || a.Key == crossZone
	inherits := isGroup && a.Key == crossZone && a.Value == likeLoadBalancer
	if isSwitch && !inherits && a.Value != "true" && a.Value != "false" {
		return refuseConfiguration("The value of '%s' must be 'true' or 'false'", a.Key)
	}
	return nil
}

func viewAttributes(attributes map[string]string) attributesOutput {
	var out []elb.Attribute
	for _, key := range core.SortedIDs(attributes) {
		out = append(out, elb.Attribute{Key: key, Value: attributes[key]})
	}
	return attributesOutput{query.MembersOf(out)}
}

func (t *Tx) describeBalancerAttributes(b *balancer, _ struct{ balancerRef }) (attributesOutput, error) {
	return viewAttributes(b.attributes), nil
}

func (t *Tx) modifyBalancerAttributes(b *balancer, in struct {
	balancerRef
	Attributes []elb.Attribute
}) (out attributesOutput, err error) {
	changed, err := changeAttributes(b.attributes, in.Attributes)
	if err == nil && changed[accessLogs] == "true" && changed[accessLogsBucket] == "" {
		err = refuseConfiguration("An S3 bucket name must be specified to enable access logs")
	}
	if err != nil {
		return out, err
	}
	b.attributes = changed
	return viewAttributes(changed), nil
}

func (t *Tx) describeGroupAttributes(g *targetGroup, _ struct{ targetGroupRef }) (attributesOutput, error) {
	return viewAttributes(g.attributes), nil
}

func (t *Tx) modifyGroupAttributes(g *targetGroup, in struct {
	targetGroupRef
	Attributes []elb.Attribute
}) (out attributesOutput, err error) {
	changed, err := changeAttributes(g.attributes, in.Attributes)
	if err == nil && changed[preserveClientIP] == "false" && (g.protocol == "UDP" || g.protocol == "TCP_UDP") {
		err = refuseConfiguration("Client IP preservation cannot be disabled for %s target groups", g.protocol)
	}
	if err != nil {
		return out, err
	}
	g.attributes = changed
	return viewAttributes(changed), nil
}

func (t *Tx) describeListenerAttributes(l *listener, _ struct{ listenerRef }) (attributesOutput, error) {
	return viewAttributes(l.attributes), nil
}

func (t *Tx) modifyListenerAttributes(l *listener, in struct {
	listenerRef
	Attributes []elb.Attribute
}) (out attributesOutput, err error) {
	changed, err := changeAttributes(l.attributes, in.Attributes)
	if err != nil {
		return out, err
	}
	l.attributes = changed
	return viewAttributes(changed), nil
}
