// Package names has all names that the provider writes into clouds and clusters and finds objects by: of load
// balancers, target groups, security groups and their rules, policies, tags, labels and provider IDs.
// Existing clusters on AWS contain them, so none can ever change: a different byte would create a second load
// balancer.
package names

import (
	"crypto/sha1" //nolint:gosec // not for security: the hash is part of names that exist
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// maxLoadBalancerName is the longest name that Elastic Load Balancing accepts.
const maxLoadBalancerName = 32

// LoadBalancerName returns the name of a Service's load balancer, classic or network. It begins with a letter, which
// classic load balancers require, and is unique because UIDs are.
func LoadBalancerName(uid types.UID) string {
	name := "a" + strings.ReplaceAll(string(uid), "-", "")
	return name[:min(len(name), maxLoadBalancerName)]
}

// defaultLoadBalancerName matches the names that LoadBalancerName returns.
var defaultLoadBalancerName = regexp.MustCompile(`\Aa[0-9a-f]{31}\z`)

// IsLoadBalancerName reports whether a name is one that LoadBalancerName returns, with the UID of any Service.
func IsLoadBalancerName(name string) bool { return defaultLoadBalancerName.MatchString(name) }

// TargetGroup has the properties that the name of a target group depends on: those that AWS cannot change in
// place. A change of any of them leads to another target group, so that the new one can exist beside the old
// one.
type TargetGroup struct {
	// ClusterID is the cluster's ID in tags.
	ClusterID string
	// Service is the namespace and name of the Service. The name does not depend on its UID.
	Service types.NamespacedName
	// Port is the listener's, NodePort the port of the targets.
	Port, NodePort int32
	// Protocol of the traffic (TCP, UDP, TLS, TCP_UDP), as the ELBv2 API writes it.
	Protocol string
	// TargetType is "instance" or "ip".
	TargetType string
	// HealthProtocol is TCP, HTTP or HTTPS, HealthInterval in seconds.
	HealthProtocol string
	HealthInterval int32
	// Variant distinguishes target groups by other properties, such as the IP address family. It is empty for those
	// that cloud-provider-aws creates too.
	Variant string
}

// TargetGroupName returns the name of a target group, of at most 32 characters: a readable part and ten digits of a
// hash.
func TargetGroupName(g TargetGroup) string {
	hash := sha1.New() //nolint:gosec // see the import
	for _, part := range []string{
		g.ClusterID, g.Service.Namespace, g.Service.Name,
		strconv.FormatInt(int64(g.Port), 10), strconv.FormatInt(int64(g.NodePort), 10),
		g.Protocol, g.TargetType, g.HealthProtocol, strconv.FormatInt(int64(g.HealthInterval), 10), g.Variant,
	} {
		hash.Write([]byte(part))
	}
	return readableName(g.Service, hash.Sum(nil))
}

// IsTargetGroupOf reports whether a name is one that TargetGroupName gives for a Service, whatever the settings are.
func IsTargetGroupOf(name string, service types.NamespacedName) bool {
	prefix := readableName(service, nil)
	return strings.HasPrefix(name, prefix) && len(name) == len(prefix)+hashDigits
}

// ClassicGroupName returns the name of the security group made for a classic load balancer.
func ClassicGroupName(loadBalancer string) string { return "k8s-elb-" + loadBalancer }

// ClassicGroupDescription returns the description of that group.
func ClassicGroupDescription(loadBalancer string, service types.NamespacedName) string {
	return fmt.Sprintf("Security group for Kubernetes ELB %s (%s)", loadBalancer, service)
}

// ManagedGroupName returns the name of the security group of a network load balancer. clusterName
// is the manager's --cluster-name, not the cluster's ID in tags.
func ManagedGroupName(clusterName string, service types.NamespacedName, uid types.UID) string {
	hash := sha256.New()
	for _, part := range []string{clusterName, service.Name, service.Namespace, string(uid)} {
		hash.Write([]byte(part))
	}
	return readableName(service, hash.Sum(nil))
}

// ManagedGroupDescription is the description of the security group of a network load balancer, the same as that of
// cloud-provider-aws: AWS has no call to change it.
const ManagedGroupDescription = "[k8s] Managed SecurityGroup for LoadBalancer"

// hashDigits is the number of digits of a hash in a name.
const hashDigits = 10

// readableName returns k8s, 8 alphanumeric characters each of namespace and name, and 10 digits of the hash.
func readableName(service types.NamespacedName, hash []byte) string {
	return fmt.Sprintf("k8s-%.8s-%.8s-%.*s",
		alphanumeric(service.Namespace), alphanumeric(service.Name), hashDigits, hex.EncodeToString(hash))
}

func alphanumeric(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// MTURule describes the rules on nodes' security groups that let path MTU discovery through. All
// network load balancers of a cluster share them.
const MTURule = "kubernetes.io/rule/nlb/mtu"

// Descriptions of the rules on nodes' security groups that allow all traffic from a security group of load balancers.
// Rules for the group that is made for a classic load balancer have none, as with cloud-provider-aws.
const (
	ClassicGroupRule = "kubernetes.io/rule/elb/security-group"
	NetworkGroupRule = "kubernetes.io/rule/nlb/security-group"
)

// IsGroupRule reports whether a description is one of a rule that allows all traffic from a security group of load
// balancers.
func IsGroupRule(description string) bool {
	return description == ClassicGroupRule || description == NetworkGroupRule
}

// Prefixes of the descriptions of rules of one network load balancer.
const (
	ClientRulePrefix = "kubernetes.io/rule/nlb/client="
	HealthRulePrefix = "kubernetes.io/rule/nlb/health="
)

// ClientRule returns the description of rules on nodes' security groups for clients of a load balancer.
func ClientRule(loadBalancer string) string { return ClientRulePrefix + loadBalancer }

// HealthRule returns the description of rules on nodes' security groups for health checks of a load balancer.
func HealthRule(loadBalancer string) string { return HealthRulePrefix + loadBalancer }

// Policies of classic load balancers.
const (
	ProxyProtocolPolicy        = "k8s-proxyprotocol-enabled"
	SSLNegotiationPolicyPrefix = "k8s-SSLNegotiationPolicy-"
)

// SSLNegotiationPolicy returns the name of the policy of a load balancer that refers to a policy of AWS.
func SSLNegotiationPolicy(reference string) string { return SSLNegotiationPolicyPrefix + reference }

// Labels of Nodes.
const (
	// TaggedLabel holds a hash of the configured tags of the Node's instance.
	TaggedLabel = "k8s.io/cloud-provider-aws"
	// ZoneIDLabel holds the ID of the zone, which identifies the same location in every account.
	ZoneIDLabel = "topology.k8s.aws/zone-id"
	// NetworkNodeLabelPrefix and a number from 1 hold the network node of that layer above the instance.
	NetworkNodeLabelPrefix = "topology.k8s.aws/network-node-layer-"
)
