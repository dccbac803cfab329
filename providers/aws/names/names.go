// Package names is everything that the provider writes into clouds and clusters and finds again by
// its name: load balancers, target groups, security groups and their rules, policies, tags, labels
// and provider IDs. It is also what today's Kubernetes clusters on AWS already contain, so none of
// it can ever change: another byte would make a second load balancer beside the one in use.
package names

import (
	"crypto/sha1" //nolint:gosec // not for security: the hash is part of names that exist
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// maxLoadBalancerName is the longest name that Elastic Load Balancing accepts.
const maxLoadBalancerName = 32

// LoadBalancerName is the name of a Service's load balancer of either generation. It begins with a
// letter, which classic load balancers demand, and is unique because UIDs are.
func LoadBalancerName(uid types.UID) string {
	name := "a" + strings.ReplaceAll(string(uid), "-", "")
	return name[:min(len(name), maxLoadBalancerName)]
}

// TargetGroup is what the name of a target group depends on: all that AWS cannot change in place.
// A change of any of it is another target group, so that a new one can exist beside the old.
type TargetGroup struct {
	// ClusterID is the cluster's ID in tags.
	ClusterID string
	// Service is the namespace and name of the Service; its UID is no part of the name.
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
	// Variant tells target groups apart that differ in what the fields above do not say (the IP
	// address family, say). It is empty for a target group of the kind that was always made.
	Variant string
}

// TargetGroupName returns the name of a target group, at most 32 characters. Names are built of
// what a person recognises and of ten digits of a hash, which nobody has to parse.
func TargetGroupName(g TargetGroup) string {
	hash := sha1.New() //nolint:gosec // see the import
	for _, part := range []string{
		g.ClusterID, g.Service.Namespace, g.Service.Name,
		strconv.FormatInt(int64(g.Port), 10), strconv.FormatInt(int64(g.NodePort), 10),
		g.Protocol, g.TargetType, g.HealthProtocol, strconv.FormatInt(int64(g.HealthInterval), 10), g.Variant,
	} {
		hash.Write([]byte(part))
	}
	return readable(g.Service, hash.Sum(nil))
}

// ClassicGroupName is the name of the security group made for a classic load balancer.
func ClassicGroupName(loadBalancer string) string { return "k8s-elb-" + loadBalancer }

// ClassicGroupDescription is the description of that group.
func ClassicGroupDescription(loadBalancer string, service types.NamespacedName) string {
	return fmt.Sprintf("Security group for Kubernetes ELB %s (%s)", loadBalancer, service)
}

// ManagedGroupName is the name of the security group made for a network load balancer. clusterName
// is the manager's --cluster-name, not the cluster's ID in tags.
func ManagedGroupName(clusterName string, service types.NamespacedName, uid types.UID) string {
	hash := sha256.New()
	for _, part := range []string{clusterName, service.Name, service.Namespace, string(uid)} {
		hash.Write([]byte(part))
	}
	return readable(service, hash.Sum(nil))
}

// readable is k8s, the namespace and the name cut to 8 letters and digits each, and 10 digits of the hash.
func readable(service types.NamespacedName, hash []byte) string {
	return fmt.Sprintf("k8s-%.8s-%.8s-%.10s", alphanumeric(service.Namespace), alphanumeric(service.Name), hex.EncodeToString(hash))
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

// Beginnings of the descriptions of rules that belong to one network load balancer.
const (
	ClientRulePrefix = "kubernetes.io/rule/nlb/client="
	HealthRulePrefix = "kubernetes.io/rule/nlb/health="
)

// ClientRule describes the rules on nodes' security groups that let clients of the load balancer in.
func ClientRule(loadBalancer string) string { return ClientRulePrefix + loadBalancer }

// HealthRule describes the rules on nodes' security groups that let the load balancer's health checks in.
func HealthRule(loadBalancer string) string { return HealthRulePrefix + loadBalancer }

// Policies of classic load balancers.
const (
	ProxyProtocolPolicy        = "k8s-proxyprotocol-enabled"
	SSLNegotiationPolicyPrefix = "k8s-SSLNegotiationPolicy-"
)

// SSLNegotiationPolicy is the name of the policy of a load balancer that refers to one of AWS'.
func SSLNegotiationPolicy(reference string) string { return SSLNegotiationPolicyPrefix + reference }

// Labels of Nodes.
const (
	// TaggedLabel holds a hash of the tags that the Node's instance was given.
	TaggedLabel = "k8s.io/cloud-provider-aws"
	// ZoneIDLabel holds the ID of the zone, which names the same place in every account.
	ZoneIDLabel = "topology.k8s.aws/zone-id"
	// NetworkNodeLabelPrefix and a number from 1 hold the network node of that layer above the instance.
	NetworkNodeLabelPrefix = "topology.k8s.aws/network-node-layer-"
)
