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
// their values. AWS documents them and their ranges in the API reference of TargetGroupAttribute.
func groupAttributes() map[string]func(string) (string, error) {
	boolean := intent.OneOf("true", "false")
	const health = "target_group_health."
	return map[string]func(string) (string, error){
		attributeDraining: intBetween(0, 3600),
		"deregistration_delay.connection_termination.enabled": boolean,
		"stickiness.enabled": boolean,
		"stickiness.type":    intent.OneOf("source_ip"),
		"load_balancing.cross_zone.enabled": intent.OneOf("true", "false",
			"use_load_balancer_configuration"),
		AttributePreserveClientIP:                                             boolean,
		AttributeProxyProtocol:                                                boolean,
		health + "dns_failover.minimum_healthy_targets.count":                 intOrOff(1, 5000),
		health + "dns_failover.minimum_healthy_targets.percentage":            intOrOff(1, 100),
		health + "unhealthy_state_routing.minimum_healthy_targets.count":      intBetween(1, 5000),
		health + "unhealthy_state_routing.minimum_healthy_targets.percentage": intOrOff(1, 100),
		"target_health_state.unhealthy.connection_termination.enabled":        boolean,
		"target_health_state.unhealthy.draining_interval_seconds":             intBetween(0, 360000),
	}
}

// GroupAttributeKeys returns the attributes of target groups that can be set, sorted.
func GroupAttributeKeys() []string { return slices.Sorted(maps.Keys(groupAttributes())) }

// parseGroupAttributes parses key=value,key=value, and rejects what AWS would reject later. The last of
// several values of an attribute takes effect; duplicates are such attributes.
func parseGroupAttributes(value string) (out map[string]string, duplicates []string, err error) {
	known := groupAttributes()
	items, _ := split(value)
	out = make(map[string]string, len(items))
	for _, item := range items {
		key, val, found := strings.Cut(item, "=")
		key, val = strings.TrimSpace(key), strings.TrimSpace(val)
		parse, ok := known[key]
		switch {
		case !found || key == "" || val == "":
			return nil, nil, fmt.Errorf("%s is not key=value: write for example "+
				"deregistration_delay.timeout_seconds=60", intent.Quote(item))
		case !ok:
			return nil, nil, unknownAttribute(key)
		}
		if _, err := parse(val); err != nil {
			return nil, nil, fmt.Errorf("the value %s of %s is invalid: %w", intent.Quote(val), key, err)
		}
		if _, exists := out[key]; exists {
			duplicates = append(duplicates, key)
		}
		out[key] = val
	}
	return out, duplicates, nil
}

func unknownAttribute(key string) error {
	if nearest := provider.Nearest(key, GroupAttributeKeys()); nearest != "" {
		return fmt.Errorf("target groups have no attribute %s: did you mean %s?", intent.Quote(key), nearest)
	}
	return fmt.Errorf("target groups of network load balancers have no attribute %s: use one of %s",
		intent.Quote(key), strings.Join(GroupAttributeKeys(), ", "))
}

func intBetween(minimum, maximum int) func(string) (string, error) {
	return func(value string) (string, error) {
		_, err := intent.Int(minimum, maximum)(value)
		return value, err
	}
}

func intOrOff(minimum, maximum int) func(string) (string, error) {
	return func(value string) (string, error) {
		if _, err := intent.Int(minimum, maximum)(value); err != nil && value != "off" {
			return "", fmt.Errorf("%w, or off", err)
		}
		return value, nil
	}
}
