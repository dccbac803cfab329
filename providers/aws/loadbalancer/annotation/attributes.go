package annotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// The attributes of target groups that other settings change too.
const (
	AttributePreserveClientIP = "preserve_client_ip.enabled"
	AttributeProxyProtocol    = "proxy_protocol_v2.enabled"
	attributeDraining         = "deregistration_delay.timeout_seconds"
)

// groupAttributes maps the attributes of the target groups of network load balancers to parsers of
// their values. AWS documents them, and their ranges, at TargetGroupAttribute.
func groupAttributes() map[string]func(string) (string, error) {
	boolean := intent.OneOf("true", "false")
	const health = "target_group_health."
	return map[string]func(string) (string, error){
		attributeDraining: within(0, 3600),
		"deregistration_delay.connection_termination.enabled": boolean,
		"stickiness.enabled": boolean,
		"stickiness.type":    intent.OneOf("source_ip"),
		"load_balancing.cross_zone.enabled": intent.OneOf("true", "false",
			"use_load_balancer_configuration"),
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

// GroupAttributeKeys returns the attributes of target groups that can be set, sorted.
func GroupAttributeKeys() []string { return slices.Sorted(maps.Keys(groupAttributes())) }

// parseGroupAttributes parses key=value,key=value, and rejects what AWS would reject later. The last of
// several values of an attribute takes effect; twice are such attributes.
func parseGroupAttributes(value string) (out map[string]string, twice []string, err error) {
	known := groupAttributes()
	items, _ := split(value)
	out = make(map[string]string, len(items))
	for _, item := range items {
		key, val, found := strings.Cut(item, "=")
		key, val = strings.TrimSpace(key), strings.TrimSpace(val)
		parse, ok := known[key]
		switch {
		case !found || key == "" || val == "":
			return nil, nil, fmt.Errorf("%q is not key=value: write for example "+
				"deregistration_delay.timeout_seconds=60", item)
		case !ok:
			return nil, nil, unknownAttribute(key)
		}
		if _, err := parse(val); err != nil {
			return nil, nil, fmt.Errorf("the value %q of %s is invalid: %w", val, key, err)
		}
		if _, again := out[key]; again {
			twice = append(twice, key)
		}
		out[key] = val
	}
	return out, twice, nil
}

func unknownAttribute(key string) error {
	if near := provider.Nearest(key, GroupAttributeKeys()); near != "" {
		return fmt.Errorf("target groups have no attribute %q: did you mean %s?", key, near)
	}
	return fmt.Errorf("target groups of network load balancers have no attribute %q: use one of "+
		"%s", key, strings.Join(GroupAttributeKeys(), ", "))
}

func within(least, most int) func(string) (string, error) {
	return func(value string) (string, error) {
		_, err := intent.Int(least, most)(value)
		return value, err
	}
}

func orOff(least, most int) func(string) (string, error) {
	return func(value string) (string, error) {
		if _, err := intent.Int(least, most)(value); err != nil && value != "off" {
			return "", fmt.Errorf("%w, or off", err)
		}
		return value, nil
	}
}
