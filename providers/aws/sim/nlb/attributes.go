package nlb

import (
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
		"access_logs.s3.enabled": "false", "access_logs.s3.bucket": "", "access_logs.s3.prefix": "",
		"deletion_protection.enabled": "false", "load_balancing.cross_zone.enabled": "false",
		"ipv6.deny_all_igw_traffic":        "false",
		"dns_record.client_routing_policy": "any_availability_zone", "zonal_shift.config.enabled": "false",
		"secondary_ips.auto_assigned.per_subnet": "0",
	}
}

// deregistrationDelay is the attribute for the seconds that a target drains.
const (
	deregistrationDelay        = "deregistration_delay.timeout_seconds"
	defaultDeregistrationDelay = 300
)

// groupAttributes returns a target group's attributes with their defaults, for network load balancers.
func groupAttributes(protocol, targetType string) map[string]string {
	preserve := "false"
	if targetType == "instance" || protocol == "UDP" || protocol == "TCP_UDP" {
		preserve = "true"
	}
	out := map[string]string{
		"stickiness.enabled":                                                             "false",
		"stickiness.type":                                                                "source_ip",
		"load_balancing.cross_zone.enabled":                                              "use_load_balancer_configuration",
		"proxy_protocol_v2.enabled":                                                      "false",
		"preserve_client_ip.enabled":                                                     preserve,
		"deregistration_delay.connection_termination.enabled":                            "false",
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 "1",
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            "off",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      "1",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",
	}
	out[deregistrationDelay] = strconv.Itoa(defaultDeregistrationDelay)
	if protocol == "TCP" || protocol == "TLS" {
		out["target_health_state.unhealthy.connection_termination.enabled"] = "true"
		out["target_health_state.unhealthy.draining_interval_seconds"] = "0"
	}
	return out
}

// listenerAttributes returns a listener's.
func listenerAttributes(protocol string) map[string]string {
	if protocol == "TCP" {
		return map[string]string{"tcp.idle_timeout.seconds": "350"}
	}
	return map[string]string{}
}

// attributeBounds are the attributes that are numbers.
var attributeBounds = map[string][2]int{
	deregistrationDelay:                                                         {0, 3600},
	"tcp.idle_timeout.seconds":                                                  {60, 6000},
	"secondary_ips.auto_assigned.per_subnet":                                    {0, 7},
	"target_health_state.unhealthy.draining_interval_seconds":                   {0, 360000},
	"target_group_health.dns_failover.minimum_healthy_targets.count":            {1, 5000},
	"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count": {1, 5000},
}

// attributeWords are the attributes with a closed set of values.
var attributeWords = map[string][]string{
	"dns_record.client_routing_policy": {"any_availability_zone", "availability_zone_affinity",
		"partial_availability_zone_affinity"},
	"stickiness.type": {"source_ip"},
}

// checkAttributes rejects attributes that an object does not have, and invalid values.
//
//nolint:cyclop // a list of independent checks, read from top to bottom
func checkAttributes(have map[string]string, changes []elb.Attribute) error {
	for _, a := range changes {
		old, known := have[a.Key]
		if !known {
			return core.Refuse("InvalidConfigurationRequest",
				"The attribute key '%s' is not recognized or is not supported for this resource", a.Key)
		}
		if bounds, ok := attributeBounds[a.Key]; ok {
			if n, err := strconv.Atoi(a.Value); err != nil || n < bounds[0] || n > bounds[1] {
				return core.Refuse("InvalidConfigurationRequest", "The value of '%s' must be between %d and %d inclusive", a.Key,
					bounds[0], bounds[1])
			}
		}
		if words, ok := attributeWords[a.Key]; ok && !slices.Contains(words, a.Value) {
			return core.Refuse("InvalidConfigurationRequest", "The value '%s' is not valid for '%s'", a.Value, a.Key)
		}
		boolean := old == "true" || old == "false" || a.Key == "load_balancing.cross_zone.enabled"
		special := old == "use_load_balancer_configuration" || a.Value == "use_load_balancer_configuration" &&
			core.Has(have, "proxy_protocol_v2.enabled")
		if boolean && a.Value != "true" && a.Value != "false" && (!special || a.Value != "use_load_balancer_configuration") {
			return core.Refuse("InvalidConfigurationRequest", "The value of '%s' must be 'true' or 'false'", a.Key)
		}
	}
	return nil
}

func setAttributes(have map[string]string, changes []elb.Attribute) attributesOutput {
	for _, a := range changes {
		have[a.Key] = a.Value
	}
	return viewAttributes(have)
}

func viewAttributes(have map[string]string) attributesOutput {
	var out []elb.Attribute
	for _, key := range core.SortedIDs(have) {
		out = append(out, elb.Attribute{Key: key, Value: have[key]})
	}
	return attributesOutput{query.MembersOf(out)}
}

func (t *Tx) describeBalancerAttributes(b *balancer, _ struct{ ofBalancer }) (out attributesOutput, err error) {
	return viewAttributes(b.attributes), nil
}

func (t *Tx) modifyBalancerAttributes(b *balancer, in struct {
	ofBalancer
	Attributes []elb.Attribute
}) (out attributesOutput, err error) {
	if err := checkAttributes(b.attributes, in.Attributes); err != nil {
		return out, err
	}
	after := map[string]string{}
	for k, v := range b.attributes {
		after[k] = v
	}
	setAttributes(after, in.Attributes)
	if after["access_logs.s3.enabled"] == "true" && after["access_logs.s3.bucket"] == "" {
		return out, core.Refuse("InvalidConfigurationRequest", "An S3 bucket name must be specified to enable access logs")
	}
	b.attributes = after
	return viewAttributes(after), nil
}

func (t *Tx) describeGroupAttributes(g *targetGroup, _ struct{ ofTargetGroup }) (out attributesOutput, err error) {
	return viewAttributes(g.attributes), nil
}

func (t *Tx) modifyGroupAttributes(g *targetGroup, in struct {
	ofTargetGroup
	Attributes []elb.Attribute
}) (out attributesOutput, err error) {
	if err := checkAttributes(g.attributes, in.Attributes); err != nil {
		return out, err
	}
	for _, a := range in.Attributes {
		if a.Key == "preserve_client_ip.enabled" && a.Value == "false" && (g.protocol == "UDP" || g.protocol == "TCP_UDP") {
			return out, core.Refuse("InvalidConfigurationRequest",
				"Client IP preservation cannot be disabled for %s target groups",
				g.protocol)
		}
	}
	return setAttributes(g.attributes, in.Attributes), nil
}

func (t *Tx) describeListenerAttributes(l *listener, _ struct{ ofListener }) (out attributesOutput, err error) {
	return viewAttributes(l.attributes), nil
}

func (t *Tx) modifyListenerAttributes(l *listener, in struct {
	ofListener
	Attributes []elb.Attribute
}) (out attributesOutput, err error) {
	if err := checkAttributes(l.attributes, in.Attributes); err != nil {
		return out, err
	}
	return setAttributes(l.attributes, in.Attributes), nil
}
