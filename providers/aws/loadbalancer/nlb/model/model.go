// Package model has the state of network load balancers: the existing objects, and those that should exist for a
// Service. It is pure: package observe reads the former, package diff plans the changes to the latter. Its files are in
// layers, and refer only to earlier ones: model.go and status.go with the existing objects, desired.go with the desired
// ones, record.go, then builder.go, ports.go, zones.go, and desire.go with Desire.
package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Kinds of objects in plans and in the inventory.
const (
	KindBalancer    = "load balancer"
	KindListener    = "listener"
	KindTargetGroup = "target group"
)

// MaxTagResources is the maximum number of objects in DescribeTags and AddTags.
const MaxTagResources = 20

// ListenerName returns the name of a listener of a load balancer, in plans and in the inventory.
func ListenerName(balancer string, port int32) string { return fmt.Sprintf("%s/%d", balancer, port) }

// Settings are the configuration of network load balancers.
type Settings struct {
	// Managed gives every new load balancer its own security group (NLBSecurityGroupMode).
	Managed bool
	// NoNodeRules leaves the security groups of nodes unchanged (DisableSecurityGroupIngress).
	NoNodeRules bool
	// Shared probes kube-proxy instead of each Service, if all nodes accept its traffic; nil disables it.
	Shared *annotation.SharedProbe
}

// Target receives traffic: an instance or an address, at a port.
type Target struct {
	ID   string
	Port int32
}

// Forward is one target group of a listener, with its weight.
type Forward struct {
	Group  string // ARN
	Weight int32
}

// Zone is one subnet of a load balancer with its addresses there.
type Zone struct {
	Subnet, Allocation, PrivateIPv4, IPv6 string
}

// Balancer is an existing network load balancer.
type Balancer struct {
	ARN, Name, DNSName, VPC string
	// Reason is AWS' explanation of its State; mostly empty.
	State, Reason string
	Scheme        string
	AddressType   string
	// SourceNAT reports whether UDP reaches nodes over IPv6 prefixes.
	SourceNAT      bool
	Zones          []Zone
	SecurityGroups []string
	// Tags is nil if they were not read.
	Tags    map[string]string
	Created time.Time
}

// Listener is one port of an existing load balancer.
type Listener struct {
	ARN, Protocol, Policy string
	Port                  int32
	Forwards              []Forward
	// The first of Certificates is the default one. Others are known only if CertificatesRead.
	Certificates     []string
	CertificatesRead bool
	// Attributes and Tags are nil if they were not read. AttributesErr is why Attributes cannot be read.
	Attributes, Tags map[string]string
	AttributesErr    error
	// Removed is set if the listener was deleted for another one that does not exist yet.
	Removed bool
}

// HealthCheck configures the probes of targets. Times are in seconds.
type HealthCheck struct {
	Protocol, Port, Path                  string
	Interval, Timeout, Healthy, Unhealthy int32
}

// TargetGroup is an existing target group.
type TargetGroup struct {
	ARN, Name, Protocol, VPC string
	TargetType, AddressType  string
	Port                     int32
	Health                   HealthCheck
	// Balancers are the ARNs of load balancers that forward to it.
	Balancers []string
	// Targets are the registered ones, by their state; nil if they were not read.
	Targets Health
	// Attributes and Tags are nil if they were not read.
	Attributes, Tags map[string]string
}

// Draining reports whether removed targets still drain their connections.
func (g TargetGroup) Draining() bool { return g.count(types.TargetHealthStateEnumDraining) > 0 }

// Active counts the targets that accept new connections.
func (g TargetGroup) Active() int {
	return len(g.Targets) - g.count(types.TargetHealthStateEnumDraining)
}

// Healthy counts the targets that are healthy.
func (g TargetGroup) Healthy() int { return g.count(types.TargetHealthStateEnumHealthy) }

func (g TargetGroup) count(state types.TargetHealthStateEnum) (n int) {
	for _, s := range g.Targets {
		if s == state {
			n++
		}
	}
	return n
}

// Observed has the existing objects of one Service's network load balancer. Readers share it and must not
// modify the objects that it points to.
type Observed struct {
	// VPC is that of the cluster.
	VPC string
	// Balancer is nil if there is none.
	Balancer *Balancer
	// Listeners by port, and Attributes of the load balancer; both nil if they were not read.
	Listeners  []Listener
	Attributes map[string]string
	// TargetGroups are those that the load balancer forwards to, and orphans with the Service's tag. By name in
	// ascending order.
	TargetGroups []TargetGroup
	// Groups are the cluster's security groups.
	Groups vpc.Groups
}

// ForeignOwner returns the owner of the load balancer, "" if it is the Service's. The default name contains the
// Service's UID: with it, missing tags do not matter, but those of another owner do.
func (o Observed) ForeignOwner(clusterID string, key lbcommon.Key) string {
	b := o.Balancer
	switch {
	case b.Name != DefaultName(key) || b.Tags == nil:
		return tags.ForeignOwner(b.Tags, clusterID, key)
	case o.VPC != b.VPC && !tags.IsFor(b.Tags, clusterID, key):
		return "a cluster in VPC " + b.VPC
	default:
		return tags.OtherOwner(b.Tags, clusterID, key)
	}
}

// Group finds a target group by its ARN.
func (o Observed) Group(arn string) (TargetGroup, bool) {
	for _, g := range o.TargetGroups {
		if g.ARN == arn {
			return g, true
		}
	}
	return TargetGroup{}, false
}

// GroupNamed finds a target group by its name.
func (o Observed) GroupNamed(name string) (TargetGroup, bool) {
	for _, g := range o.TargetGroups {
		if g.Name == name {
			return g, true
		}
	}
	return TargetGroup{}, false
}

// DefaultName returns the name of a Service's load balancer if the Service doesn't choose one.
func DefaultName(key lbcommon.Key) string { return names.LoadBalancerName(key.UID) }

// Health is the state of each target of a target group.
type Health map[Target]types.TargetHealthStateEnum

// Unlinked returns a target group that a load balancer no longer uses.
func (g TargetGroup) Unlinked(balancer string) TargetGroup {
	g.Balancers = slices.DeleteFunc(slices.Clone(g.Balancers), func(b string) bool { return b == balancer })
	return g
}

// RefuseForeign returns the error about a load balancer of our name that belongs to another owner.
func RefuseForeign(key lbcommon.Key, b Balancer, owner string) error {
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: key.Subject(),
		Err: fmt.Errorf("the load balancer %s belongs to %s and is left alone: give each cluster an ID of its own, or "+
			"delete that load balancer", b.Name, owner)}
}
