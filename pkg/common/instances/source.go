// Package instances implements cloudprovider.InstancesV2 once for every cloud, over the narrow
// interface Source. It answers many callers with few bulk calls, and says "does not exist" only
// after an authoritative read of that one instance.
package instances

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// State is the power state of an instance, reduced to what the framework asks.
type State string

// The closed set of states. Pending and Terminating instances exist.
const (
	Running     State = "running"
	Stopped     State = "stopped"
	Pending     State = "pending"
	Terminating State = "terminating"
)

// Instance is one machine as a cloud describes it.
type Instance struct {
	// ID is the cloud's own identifier, as Scheme.Parse returns it.
	ID string
	// ProviderID is what spec.providerID is set to. It can never change for an instance.
	ProviderID string
	// NodeName is the Kubernetes node name that the cloud's naming rule gives this instance.
	NodeName string
	Type     string
	Zone     string
	Region   string
	State    State
	// Addresses in the order in which the node shall list them.
	Addresses []v1.NodeAddress
	// Labels are set on the node beside those of type, zone and region.
	Labels map[string]string
	// Incomplete, where set, is why Labels or Addresses lack something that a node is given at its
	// initialisation and never again. InstanceMetadata of a node that is being initialised returns
	// it, so that the node is tried again; everything else goes on.
	Incomplete error
}

// Source is what a cloud must fill. Every method makes as few calls as the cloud's API allows
// and returns errors with a class of package cloudapi.
type Source interface {
	// List returns all instances in scope, all pages.
	List(ctx context.Context) ([]Instance, error)
	// Get reads these instances authoritatively. One that does not exist is absent from the
	// answer, and never makes the call fail.
	Get(ctx context.Context, ids []string) ([]Instance, error)
	// Find reads the instances that carry these node names authoritatively. One that does not
	// exist is absent. Two instances of one name are an error.
	Find(ctx context.Context, nodeNames []string) ([]Instance, error)
}

// Scheme is a cloud's form of spec.providerID.
type Scheme interface {
	// Parse returns the instance ID in a provider ID. A provider ID of another cloud is a
	// *ForeignIDError, one of this cloud that is malformed a *MalformedIDError.
	Parse(providerID string) (id string, err error)
}
