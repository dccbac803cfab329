package nlb

import (
	"slices"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
)

// IP address types of load balancers and target groups. Target groups have addressTypeIPv6 and addressTypeIPv4.
const (
	addressTypeIPv4      = "ipv4"
	addressTypeIPv6      = "ipv6"
	addressTypeDualStack = "dualstack"
)

// State has all objects by ARN.
type State struct {
	balancers    map[string]*balancer
	listeners    map[string]*listener
	targetGroups map[string]*targetGroup
}

// Tx is one operation on the state.
type Tx struct {
	*elb.Tx
	*State
}

// The parts of requests that name an object.
type (
	balancerRef    struct{ LoadBalancerArn string }
	targetGroupRef struct{ TargetGroupArn string }
	listenerRef    struct{ ListenerArn string }
)

// balancer is a load balancer of the second generation. Only network load balancers are supported.
type balancer struct {
	arn, name, suffix string
	scheme, VPC       string
	addressType       string
	mappings          []subnetMapping
	groups            []string
	// hasGroups is set at creation and can never change: one created without security groups cannot get any.
	hasGroups   bool
	privateLink string
	// sourceNAT is on or off: whether UDP of IPv6 clients reaches IPv4 targets.
	sourceNAT  string
	attributes map[string]string
	created    time.Time
	// ENIs are the network interfaces by subnet.
	ENIs map[string]string
}

type subnetMapping struct {
	SubnetID           string `q:"SubnetId"`
	AllocationID       string `q:"AllocationId"`
	PrivateIPv4        string `q:"PrivateIPv4Address"`
	IPv6               string `q:"IPv6Address"`
	SourceNatIPv6Range string `q:"SourceNatIpv6Prefix"`
}

type listener struct {
	arn, balancer, protocol string
	port                    int32
	policy                  string
	alpn                    []string
	// The first of certificates is the default one.
	certificates []string
	actions      []action
	attributes   map[string]string
}

// forwardsTo is called for each pair of a listener and a target group, so it allocates no list.
func (l *listener) forwardsTo(group string) bool {
	for _, a := range l.actions {
		if a.TargetGroupArn == group {
			return true
		}
		if a.TargetGroupArn == "" && a.ForwardConfig != nil &&
			slices.ContainsFunc(a.ForwardConfig.TargetGroups, func(g forwardGroup) bool { return g.TargetGroupArn == group }) {
			return true
		}
	}
	return false
}

// action is the action of a listener. Listeners of network load balancers only forward.
type action struct {
	Type           string
	TargetGroupArn string
	Order          *int32
	ForwardConfig  *forward
}

func (a action) groups() []string {
	if a.TargetGroupArn != "" {
		return []string{a.TargetGroupArn}
	}
	var out []string
	if a.ForwardConfig != nil {
		for _, g := range a.ForwardConfig.TargetGroups {
			out = append(out, g.TargetGroupArn)
		}
	}
	return out
}

type forward struct {
	TargetGroups []forwardGroup
	Stickiness   *struct {
		Enabled         bool
		DurationSeconds *int32
	} `q:"TargetGroupStickinessConfig"`
}

type forwardGroup struct {
	TargetGroupArn string
	Weight         *int32
}

type targetGroup struct {
	arn, name, protocol string
	port                int32
	VPC, targetType     string
	addressType         string
	check               healthCheck
	targets             []*target
	attributes          map[string]string
	// usedSince is when a listener first forwarded to it.
	usedSince time.Time
}

// target is a member of a target group: an instance or an IP address, and a port.
type target struct {
	id, zone   string
	port       int32
	registered time.Time
	// drained is when a deregistered target has drained; zero for registered ones.
	drained time.Time
}

// healthCheck of a target group. Thresholds and times are in checks and seconds.
type healthCheck struct {
	HealthCheckProtocol        string
	HealthCheckPort            string
	HealthCheckPath            string `xml:",omitempty"`
	HealthCheckEnabled         *bool
	HealthCheckIntervalSeconds int32
	HealthCheckTimeoutSeconds  int32
	HealthyThresholdCount      int32
	UnhealthyThresholdCount    int32
	Matcher                    *matcher
}

type matcher struct {
	HTTPCode string `q:"HttpCode" xml:"HttpCode"`
}

// find returns the object that a request names. kind is its type in ARNs, and noun in errors.
func find[T any](all map[string]*T, arn, kind, noun string, errMissing error) (*T, error) {
	if x := all[arn]; x != nil {
		return x, nil
	}
	if err := checkARN(arn, kind, noun); err != nil {
		return nil, err
	}
	return nil, errMissing
}

func checkARN(arn, kind, noun string) error {
	if !strings.Contains(arn, ":"+kind+"/") {
		return core.Validation("'%s' is not a valid %s ARN", arn, noun)
	}
	return nil
}

func (t *Tx) findBalancer(arn string) (*balancer, error) {
	return find(t.balancers, arn, "loadbalancer", "load balancer",
		core.Refuse("LoadBalancerNotFound", "Load balancer '%s' not found", arn))
}

// refuseConfiguration returns the error for an invalid configuration.
func refuseConfiguration(format string, args ...any) error {
	return core.Refuse("InvalidConfigurationRequest", format, args...)
}
