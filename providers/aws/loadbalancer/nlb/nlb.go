// Package nlb manages network load balancers: what should exist for a Service, what does, and how
// the one becomes the other. Each kind of object has a file of its own. Subnets, security groups
// and their rules come from package vpc.
package nlb

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// What plans call the objects.
const (
	kindBalancer    = "load balancer"
	kindListener    = "listener"
	kindTargetGroup = "target group"
	kindTargets     = "targets"
	kindTags        = "tags"
	kindAttributes  = "attributes"
	kindCertificate = "certificates"
)

// Settings are the configuration of network load balancers.
type Settings struct {
	// Managed gives every new load balancer a security group of its own (NLBSecurityGroupMode).
	Managed bool
	// NoNodeRules leaves the security groups of nodes alone (DisableSecurityGroupIngress).
	NoNodeRules bool
	// Shared probes kube-proxy instead of each Service, where all nodes take its traffic; nil does not.
	Shared *annotation.SharedProbe
}

// Options of a Store. All are required but the clock.
type Options struct {
	API api.ELBV2
	// Groups are the security groups of the VPC.
	Groups *vpc.GroupStore
	// Instances shows which instances run, when AWS refuses targets. It may be nil.
	Instances vpc.InstanceSource
	// VPC is the ID of the cluster's VPC: objects in other VPCs are ignored.
	VPC      string
	Cluster  vpc.Cluster
	Settings Settings
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Cloud plans and makes changes of network load balancers, over a Store that it keeps true. It is
// safe for concurrent use.
type Cloud struct {
	options Options
	store   *Store
}

// New returns a Cloud. It makes no calls.
func New(o Options) *Cloud {
	o.Clock = clocks.OrReal(o.Clock)
	return &Cloud{options: o, store: newStore(o)}
}

// Store is the observations.
func (c *Cloud) Store() *Store { return c.store }

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

// Zone is one subnet of a load balancer with the addresses it has there.
type Zone struct {
	Subnet, Allocation, PrivateIPv4, IPv6 string
}

// Balancer is a network load balancer that exists.
type Balancer struct {
	ARN, Name, DNSName, VPC string
	// Reason is why it is in its State, in AWS' words; mostly empty.
	State, Reason string
	Scheme        string
	AddressType   string
	// SourceNAT is whether UDP reaches nodes over IPv6 prefixes.
	SourceNAT      bool
	Zones          []Zone
	SecurityGroups []string
	// Tags is nil if they were not read.
	Tags map[string]string
}

// Listener is one port of a load balancer that exists.
type Listener struct {
	ARN, Protocol, Policy string
	Port                  int32
	Forwards              []Forward
	// Certificates begin with the default one. Others are known only if CertificatesRead.
	Certificates     []string
	CertificatesRead bool
	// Attributes and Tags are nil if they were not read.
	Attributes, Tags map[string]string
}

// HealthCheck is how targets are probed. Times are in seconds.
type HealthCheck struct {
	Protocol, Port, Path                  string
	Interval, Timeout, Healthy, Unhealthy int32
}

// TargetGroup is a set of targets that exists.
type TargetGroup struct {
	ARN, Name, Protocol, VPC string
	TargetType, AddressType  string
	Port                     int32
	Health                   HealthCheck
	// Balancers are the ARNs of load balancers that forward to it.
	Balancers []string
	// Targets are those that are registered, by their state; nil if they were not read.
	Targets Health
	// Attributes and Tags are nil if they were not read.
	Attributes, Tags map[string]string
}

// draining reports whether targets that were removed still finish their connections.
func (g TargetGroup) draining() bool {
	for _, state := range g.Targets {
		if state == types.TargetHealthStateEnumDraining {
			return true
		}
	}
	return false
}

// active counts the targets that take new connections.
func (g TargetGroup) active() (n int) {
	for _, state := range g.Targets {
		if state != types.TargetHealthStateEnumDraining {
			n++
		}
	}
	return n
}

// Observed is what exists of one Service's network load balancer. It is shared between readers, who
// must not modify what it points to.
type Observed struct {
	// Balancer is nil if there is none.
	Balancer *Balancer
	// Listeners by port, and Attributes of the load balancer; both nil if they were not read.
	Listeners  []Listener
	Attributes map[string]string
	// TargetGroups are those that the load balancer forwards to, and those that bear the
	// Service's tag and that no load balancer uses. By name in ascending order.
	TargetGroups []TargetGroup
	// Groups are the cluster's security groups.
	Groups vpc.Groups
	// SharedGroups are the security groups of the load balancer that other network load balancers have too.
	SharedGroups []string
}

// group finds a target group by its ARN.
func (o Observed) group(arn string) (TargetGroup, bool) {
	for _, g := range o.TargetGroups {
		if g.ARN == arn {
			return g, true
		}
	}
	return TargetGroup{}, false
}

// groupNamed finds a target group by its name.
func (o Observed) groupNamed(name string) (TargetGroup, bool) {
	for _, g := range o.TargetGroups {
		if g.Name == name {
			return g, true
		}
	}
	return TargetGroup{}, false
}

// DefaultName is the name of a Service's load balancer where the Service doesn't choose one.
func DefaultName(key lbcommon.Key) string { return names.LoadBalancerName(key.UID) }

// nameInARN is the name of a load balancer or target group in its ARN.
func nameInARN(arn string) string {
	parts := strings.Split(arn, "/")
	if len(parts) < 3 {
		return arn
	}
	return parts[len(parts)-2]
}

const (
	// healthPoll is the pause between two reads of the health of targets. Probes take 5 s at the least.
	healthPoll = 5 * time.Second
	// healthWait bounds how long a new target group may take to become healthy before it is used
	// anyway. AWS takes up to 3 minutes to begin with a target. Longer waits would leave the Service
	// on node ports that are closed by now.
	healthWait = 3 * time.Minute
)
