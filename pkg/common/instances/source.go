// Package instances implements cloudprovider.InstancesV2 for every cloud, over the narrow interface Source.
// It serves many callers with few bulk calls, and returns "does not exist" only after an authoritative
// read of that instance.
package instances

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// State is the power state of an instance, reduced to what the framework distinguishes.
type State string

// The states of instances. Pending and Terminating instances exist.
const (
	Running     State = "running"
	Stopped     State = "stopped"
	Pending     State = "pending"
	Terminating State = "terminating"
)

// Instance is an instance of a cloud.
type Instance struct {
	// ID is the cloud's own identifier, as Scheme.Parse returns it.
	ID string
	// ProviderID is the value of spec.providerID. It never changes for an instance.
	ProviderID string
	// NodeName is the node name of the instance according to the cloud's naming rule.
	NodeName string
	// SystemUUIDs are the possible values, in lower case, of the system UUID that the instance's kubelet reports in the
	// Node's status. They identify instances in clouds where names are not unique; empty in all others.
	SystemUUIDs []string
	Type        string
	Zone        string
	Region      string
	State       State
	// Addresses are in the order of the node's status.
	Addresses []v1.NodeAddress
	// Labels are additional labels of the node, beside those of type, zone and region.
	Labels map[string]string
	// Incomplete, if set, is the reason why Labels or Addresses lack something that a node gets only at its
	// initialization. InstanceMetadata returns it for nodes that are being initialized, so that they are
	// retried. Other nodes are not affected.
	Incomplete error
	// Uncertain, if set, is the reason why it is unknown which instance has this ID or belongs to this Node, or whether
	// one does. It is the error of every lookup of it and does not affect the others of the same call. Only ID or
	// NodeName is set beside it.
	Uncertain error
}

// NodeRef identifies the Node of an instance before the Node has a provider ID.
type NodeRef struct {
	Name string
	// SystemUUID is that of the Node's status in lower case, which the kubelet reads from the firmware; empty if
	// the Node has none.
	SystemUUID string
}

// RefOf returns the NodeRef of a Node.
func RefOf(node *v1.Node) NodeRef {
	return NodeRef{Name: node.Name, SystemUUID: strings.ToLower(node.Status.NodeInfo.SystemUUID)}
}

// NamesOf returns the names of Nodes, for clouds that identify instances by them.
func NamesOf(nodes []NodeRef) []string {
	names := make([]string, len(nodes))
	for i, node := range nodes {
		names[i] = node.Name
	}
	return names
}

// Source reads instances from a cloud. Every method makes as few calls as the cloud's API allows, and
// returns errors with a class of package cloudapi.
type Source interface {
	// List returns all instances in scope, all pages.
	List(ctx context.Context) ([]Instance, error)
	// Get reads instances authoritatively. One that does not exist is absent from the result, and does
	// not fail the call. One that may exist is Uncertain.
	Get(ctx context.Context, ids []string) ([]Instance, error)
	// Find reads the instances of these Nodes authoritatively, and returns each with the name of its Node. One
	// that does not exist is absent from the result. A Node with two instances is Uncertain, or fails the call.
	Find(ctx context.Context, nodes []NodeRef) ([]Instance, error)
}

// Scheme is a cloud's form of spec.providerID.
type Scheme interface {
	// Parse returns the instance ID in a provider ID. It returns a *ForeignIDError for a provider ID of
	// another cloud, and a *MalformedIDError for an invalid one of this cloud.
	Parse(providerID string) (id string, err error)
}
