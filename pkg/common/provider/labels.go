package provider

// The keys are on users' Nodes and can never change.
const (
	// ManagedLabel set to "false" on a Node makes the manager leave that Node alone: it is never
	// deleted, tainted, routed to or made a target.
	ManagedLabel = "node.unified-ccm.io/managed"
	// ProviderLabel on a Node names the provider of its cloud. With several clouds, only that one gets requests about a
	// Node without a provider ID. Kubelets may write it, so it is no proof.
	ProviderLabel = "node.unified-ccm.io/provider"
	// PlatformAnnotation is that of KEP-5778, with the meaning of ProviderLabel.
	PlatformAnnotation = "cloudprovider.kubernetes.io/platform"
)
