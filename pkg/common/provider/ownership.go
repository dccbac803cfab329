package provider

import (
	v1 "k8s.io/api/core/v1"
)

// NodeOwner is implemented by providers that recognise their own provider IDs. It does no I/O.
type NodeOwner interface {
	// OwnsNode classifies a node by its spec.providerID alone.
	OwnsNode(node *v1.Node) Ownership
}

// Ownership is the relation of a provider to a node.
type Ownership string

// The three results. Unknown is a node without a provider ID, or with one that cannot be parsed.
const (
	Mine    Ownership = "mine"
	Foreign Ownership = "foreign"
	Unknown Ownership = "unknown"
)
