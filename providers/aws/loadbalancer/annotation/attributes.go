package annotation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// The attributes of target groups that other settings touch as well.
const (
	AttributePreserveClientIP = "preserve_client_ip.enabled"
	AttributeProxyProtocol    = "proxy_protocol_v2.enabled"
)

// groupAttributes are the attributes that target groups of network load balancers have, with a
// check of the value that returns what to write instead. AWS documents them, and their ranges, at
// TargetGroupAttribute.
func groupAttributes() map[string]func(string) error {
	boolean := oneOf("true", "false")
	const health = "target_group_health."
	return map[string]func(string) error{
		"deregistration_delay.timeout_seconds":                                within(0, 3600),
		"deregistration_delay.connection_termination.enabled":                 boolean,
		"stickiness.enabled":                                                  boolean,
		"stickiness.type":                                                     oneOf("source_ip"),
		"load_balancing.cross_zone.enabled":                                   oneOf("true", "false", "use_load_balancer_configuration"),
		AttributePreserveClientIP:                                             boolean,
		AttributeProxyProtocol:                                                boolean,
		health + "dns_failover.minimum_healthy_targets.count":                 orOff(1, 5000),
		health + "dns_failover.minimum_healthy_targets.percentage":            orOff(1, 100),
		health + "unhealthy_state_routing.minimum_healthy_targets.count":      within(1, 5000),
		health + "unhealthy_state_routing.minimum_healthy_targets.percentage": orOff(1, 100),
		"target_health_state.unhealthy.connection_termination.enabled":        boolean,
		"target_health_state.unhealthy.draining_interval_seconds":             within(0, 360000),
	}
}

// GroupAttributeKeys are the attributes of target groups that can be set, sorted.
func GroupAttributeKeys() []string { return slices.Sorted(maps.Keys(groupAttributes())) }

// readGroupAttributes reads key=value,key=value. Everything that AWS would refuse later is refused now.
func readGroupAttributes(value string) (map[string]string, error) {
	known := groupAttributes()
	out := map[string]string{}
	for item := range strings.SplitSeq(value, ",") {
		key, val, found := strings.Cut(item, "=")
		key, val = strings.TrimSpace(key), strings.TrimSpace(val)
		check, ok := known[key]
		_, twice := out[key]
		switch {
		case !found || key == "" || val == "":
			return nil, fmt.Errorf("%q is not key=value: write for example deregistration_delay.timeout_seconds=60", strings.TrimSpace(item))
		case !ok:
			return nil, unknownAttribute(key)
		case twice:
			return nil, fmt.Errorf("the attribute %s is given twice: give it once", key)
		}
		if err := check(val); err != nil {
			return nil, fmt.Errorf("the value %q of %s cannot be: %w", val, key, err)
		}
		out[key] = val
	}
	return out, nil
}

func unknownAttribute(key string) error {
	if near := provider.Nearest(key, GroupAttributeKeys()); near != "" {
		return fmt.Errorf("target groups have no attribute %q: did you mean %s?", key, near)
	}
	return fmt.Errorf("target groups of network load balancers have no attribute %q: use one of %s", key, strings.Join(GroupAttributeKeys(), ", "))
}

func oneOf(words ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(words, v) {
			return fmt.Errorf("write %s", strings.Join(words, " or "))
		}
		return nil
	}
}

func within(least, most int) func(string) error {
	return func(v string) error {
		if n, err := strconv.Atoi(v); err != nil || n < least || n > most {
			return fmt.Errorf("write a whole number from %d to %d", least, most)
		}
		return nil
	}
}

func orOff(least, most int) func(string) error {
	number := within(least, most)
	return func(v string) error {
		if v == "off" {
			return nil
		}
		if err := number(v); err != nil {
			return fmt.Errorf("%w, or off", err)
		}
		return nil
	}
}
