package events

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Reason is the reason of an Event. Alerts and scripts match reasons, so that a reason never changes. Only this package
// makes one, so that every Event has a reason of All.
type Reason struct{ name string }

// String returns the reason as the Event has it.
func (r Reason) String() string { return r.name }

// Definition describes a reason to users.
type Definition struct {
	Reason Reason
	// Type is v1.EventTypeNormal or v1.EventTypeWarning.
	Type string
	// Object is the kind of object that the Event is about.
	Object string
	// When is the condition, Action what to do about it.
	When, Action string
	// Framework reports that Kubernetes' own controllers send it, which run in this program.
	Framework bool
}

// Kinds of objects.
const (
	onService = "Service"
	onNode    = "Node"
	onLease   = "Lease"
)

var definitions []Definition

func define(name, kind, object, when, action string) Reason {
	definitions = append(definitions, Definition{Reason{name}, kind, object, when, action, false})
	return Reason{name}
}

func defineNormal(object, name, when, action string) Reason {
	return define(name, v1.EventTypeNormal, object, when, action)
}

func defineWarning(object, name, when, action string) Reason {
	return define(name, v1.EventTypeWarning, object, when, action)
}

// All returns the definitions of all reasons: those of this project, then those of Kubernetes' controllers.
func All() []Definition { return append(definitions[:len(definitions):len(definitions)], framework...) }

// Reasons of Events on Services.
var (
	LoadBalancerChanged = defineNormal(onService, "LoadBalancerChanged",
		"Objects of the load balancer were created, changed or deleted; the message lists them.", "Nothing.")
	LoadBalancerChangesHeld = defineWarning(onService, "LoadBalancerChangesHeld",
		"Changes would disrupt traffic, an address or the load balancer, and no edit of the Service caused them.",
		"Approve them or keep what exists: "+linkRunbook("UnifiedCCMLoadBalancerChangesHeld")+".")
	LoadBalancerDrift = defineWarning(onService, "LoadBalancerDrift",
		"An audit found cloud objects that were changed outside of this manager, and corrects them.",
		"Find the other client: "+linkRunbook("UnifiedCCMLoadBalancerDrift")+".")
	LoadBalancerWarning = defineWarning(onService, "LoadBalancerWarning",
		"Something about the cloud's objects needs attention and does not stop the sync.",
		"The message names what the manager did not change, and why.")
	UnsupportedAnnotation = defineWarning(onService, "UnsupportedAnnotation",
		"An annotation or a field has no effect on this cloud.",
		"Remove it, or use the annotation that the message names.")
	UnknownAnnotation = defineWarning(onService, "UnknownAnnotation",
		"No such annotation exists; probably a typing error.", "Correct the key: the message names the nearest one.")
	IgnoredSetting = defineWarning(onService, "IgnoredSetting",
		"A setting has no effect because of another one that the message names.", "Remove one of the two.")
	LoadBalancerMoveHeld = defineWarning(onService, "LoadBalancerMoveHeld",
		"The Service selects another cloud than the one that has its load balancer. The load balancer stays until the move "+
			"is approved.",
		"Approve the move with the ID in the message, or select the cloud that has the load balancer.")
	LoadBalancerMoving = defineNormal(onService, "LoadBalancerMoving",
		"The load balancer moves to another cloud: the new one is created first, and the old one is deleted after it.",
		"Nothing.")
	LoadBalancerCloudMissing = defineWarning(onService, "LoadBalancerCloudMissing",
		"The cloud that has the load balancer, or that the Service selects, is not one of --cloud-provider. Nothing is "+
			"changed, and the Service keeps its finalizer.",
		"Add the cloud to --cloud-provider, or correct the annotation.")
	LoadBalancerOwnerConflict = defineWarning(onService, "LoadBalancerOwnerConflict",
		"More than one cloud has a load balancer of the Service.",
		"The message names the cloud that is used. Delete what the others have: `ccm audit` lists it.")
	LoadBalancerEndpointsElsewhere = defineWarning(onService, "LoadBalancerEndpointsElsewhere",
		"`externalTrafficPolicy` is `Local`, and all endpoints are on nodes of other clouds than the load balancer: no node "+
			"behind it answers. It is checked every 10 minutes, with several clouds only.",
		"Schedule pods on nodes of the cloud in the message, select the cloud of the pods, or set `externalTrafficPolicy` to "+
			"`Cluster`.")
	DryRunPlan = defineNormal(onService, "DryRunPlan",
		"The manager runs with --dry-run: the message is the plan, and nothing was changed.",
		"Compare the plan with what you expect.")

	// Reasons that alerts for earlier managers of a cloud match.
	LoadBalancerForcedInternal = defineWarning(onService, "LoadBalancerForcedInternal",
		"The Service requests a public load balancer, and the configuration makes all of them internal.",
		"Remove the annotation, or `internal-lb` from the section `[LoadBalancer]` of the configuration.")
	LoadBalancerExternalNetworkSearchFailed = defineWarning(onService, "LoadBalancerExternalNetworkSearchFailed",
		"There is no external network for a floating IP.",
		"Set `floating-network-id` in the section `[LoadBalancer]` of the configuration.")
	LoadBalancerSourceRangesIgnored = defineWarning(onService, "LoadBalancerSourceRangesIgnored",
		"The source ranges of the Service have no effect: the cloud's load balancers do not restrict sources, or security "+
			"groups that the manager never edits do.",
		"Write the ranges into these security groups, restrict the sources with a NetworkPolicy, or use another load "+
			"balancer provider.")
	LoadBalancerAvailabilityZonesIgnored = defineWarning(onService, "LoadBalancerAvailabilityZonesIgnored",
		"The cloud's load balancers have no availability zones.", "Remove the annotation.")
	LoadBalancerFloatingIPSkipped = defineWarning(onService, "LoadBalancerFloatingIPSkipped",
		"The load balancer cannot have the floating IP that annotations request, for example with an IPv6 address.",
		"Remove these annotations.")
	LoadBalancerManualChange = defineNormal(onService, "LoadBalancerManualChange",
		"The host project of a shared network denies a change of a firewall.",
		"Have an administrator of that project run the command in the message, or give the manager the permission.")
	LoadBalancerLbMethodUnknown = defineWarning(onService, "LoadBalancerLbMethodUnknown",
		"The provider of the load balancer does not support the requested algorithm: its pools keep theirs.",
		"Request one that the provider supports.")
)

// Reasons of Events on Nodes.
var (
	NodeDeletionSuppressed = defineWarning(onNode, "NodeDeletionSuppressed",
		"The cloud reports that the machine does not exist, and the node is kept for now. Normal while the manager "+
			"waits for a second report.",
		"Nothing for a machine that was deleted. For others: "+linkRunbook("UnifiedCCMNodeDeletionsLimited")+".")
	InstanceFound = defineNormal(onNode, "InstanceFound",
		"The cloud lists the machine again, which it had reported as missing.", "Nothing.")
	NodeNotOurs = defineNormal(onNode, "NodeNotOurs",
		"The node is of another cloud, or has the opt-out label, and is skipped.",
		"Nothing, unless the node is of this cloud: "+linkRunbook("UnifiedCCMNodesUnknown")+".")
	NodeOwnerConflict = defineWarning(onNode, "NodeOwnerConflict",
		"More than one cloud has a machine of the node, so that it belongs to none and is not initialized.",
		"Set --provider-id of its kubelet, or the label `node.unified-ccm.io/provider`.")
	InvalidProviderID = defineWarning(onNode, "InvalidProviderID",
		"The provider ID of the node cannot be read. The node is left alone: it is not initialized and not deleted.",
		"Correct --provider-id of its kubelet, delete the Node, and restart the kubelet.")
	CIDRNotAvailable = defineWarning(onNode, "CIDRNotAvailable",
		"The node gets no podCIDR: the cloud has assigned no range to its machine, another node has it, --cluster-cidr is "+
			"used up, or the API server rejects it. Or the machine does not have the podCIDR of the node.",
		"The message says how a machine gets a range, which node has it, or which range is too small.")
)

// framework has the reasons of the controllers of k8s.io/cloud-provider and of leader election.
var framework = []Definition{
	{Reason{"EnsuringLoadBalancer"}, v1.EventTypeNormal, onService, "A sync starts.", "Nothing.", true},
	{Reason{"EnsuredLoadBalancer"}, v1.EventTypeNormal, onService, "A sync has ended well.", "Nothing.", true},
	{Reason{"UpdatedLoadBalancer"}, v1.EventTypeNormal, onService, "The members follow the nodes.", "Nothing.", true},
	{Reason{"DeletingLoadBalancer"}, v1.EventTypeNormal, onService, "A deletion starts.", "Nothing.", true},
	{Reason{"DeletedLoadBalancer"}, v1.EventTypeNormal, onService, "A deletion has ended well.", "Nothing.", true},
	{Reason{"SyncLoadBalancerFailed"}, v1.EventTypeWarning, onService,
		"A sync has failed and is retried; the message has the class of the error and the object.",
		"See " + linkRunbook("UnifiedCCMErrors") + ".", true},
	{Reason{"UpdateLoadBalancerFailed"}, v1.EventTypeWarning, onService,
		"The members could not follow the nodes; it is retried.", "See " + linkRunbook("UnifiedCCMErrors") + ".", true},
	{Reason{"DeleteLoadBalancerFailed"}, v1.EventTypeWarning, onService,
		"The load balancer of a Service that no longer needs one could not be deleted; it is retried.",
		"See " + linkRunbook("UnifiedCCMErrors") + ".", true},
	{Reason{"UnAvailableLoadBalancer"}, v1.EventTypeWarning, onService,
		"The load balancer has no members, because there are no nodes for it.",
		"Check that nodes are ready and have no label that excludes them from load balancers.", true},
	{Reason{"Synced"}, v1.EventTypeNormal, onNode, "The node is initialized.", "Nothing.", true},
	{Reason{"DeletingNode"}, v1.EventTypeNormal, onNode, "The machine was deleted, so the node is.", "Nothing.", true},
	{Reason{"DeletingNodeFailed"}, v1.EventTypeWarning, onNode,
		"The node of a deleted machine could not be deleted; it is retried.",
		"The message has the API server's error.", true},
	{Reason{"FailedToCreateRoute"}, v1.EventTypeWarning, onNode,
		"The route to the pods of the node could not be created; it is retried.",
		"See " + linkRunbook("UnifiedCCMErrors") + ".", true},
	{Reason{"LeaderElection"}, v1.EventTypeNormal, onLease, "Another replica leads.", "Nothing.", true},
}

// linkRunbook returns a link from the reference to the runbook of an alert.
func linkRunbook(alert string) string {
	return "[" + alert + "](../guides/runbooks.md#" + strings.ToLower(alert) + ")"
}
