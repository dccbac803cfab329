package model

import "github.com/unified-ccm/unified-ccm/providers/gce/api"

// MaxMembers is the number of instances that an instance group can have.
const MaxMembers = 1000

// SharedState are what Services share and do not own.
type SharedState struct {
	// ClusterID is in the names of the objects of a cluster.
	ClusterID   string
	Environment api.Environment
	// Subnetwork is the URL of the subnet of internal load balancers; "" if it is not known.
	Subnetwork string
	// Legacy is set for a network without subnets.
	Legacy bool
	// NodeTags select the nodes in firewalls. PartialTags is set if those of some nodes are not known, so that existing
	// firewalls keep theirs.
	NodeTags    []string
	PartialTags bool
	// Untagged are the names of instances without a tag that could select them.
	Untagged []string
}

// Group are the instances of a zone in its instance group, as ZONE/NAME.
type Group struct {
	Zone    string
	Members []string
	// Suffix ends the name of a group of another controller, whose members are not read; "" for one of ours.
	Suffix string
	// Unread is set for a zone that did not answer: whether it has a group is unknown. Its members are those that were
	// read last; nil without any.
	Unread bool
}
