// Package instances implements cloudprovider.InstancesV2 for every cloud, over the narrow interface Source.
// It serves many callers with few bulk calls, and returns "does not exist" only after an authoritative
// read of that instance.
package instances

import (
	"context"

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
	Type     string
	Zone     string
	Region   string
	State    State
	// Addresses are in the order of the node's status.
	Addresses []v1.NodeAddress
	// Labels are additional labels of the node, beside those of type, zone and region.
	Labels map[string]string
	// Incomplete, if set, is the reason why Labels or Addresses lack something that a node gets only at its
	// initialization. InstanceMetadata returns it for nodes that are being initialized, so that they are
	// retried. Other nodes are not affected.
	Incomplete error
}

// Source reads instances from a cloud. Every method makes as few calls as the cloud's API allows, and
// returns errors with a class of package cloudapi.
type Source interface {
	// List returns all instances in scope, all pages.
	List(ctx context.Context) ([]Instance, error)
	// Get reads instances authoritatively. One that does not exist is absent from the result, and does
	// not fail the call.
	Get(ctx context.Context, ids []string) ([]Instance, error)
	// Find reads the instances with these node names authoritatively. One that does not exist is absent
	// from the result. Two instances of one name are an error.
	Find(ctx context.Context, nodeNames []string) ([]Instance, error)
}

// Scheme is a cloud's form of spec.providerID.
type Scheme interface {
	// Parse returns the instance ID in a provider ID. It returns a *ForeignIDError for a provider ID of
	// another cloud, and a *MalformedIDError for an invalid one of this cloud.
	Parse(providerID string) (id string, err error)
}
