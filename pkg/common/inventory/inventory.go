// Package inventory lists the objects in a cloud that carry the mark of a cluster, and classifies each of them: in
// sync with the cluster, drifted, held, orphaned, or foreign. A provider implements Lister; everything else is pure
// and the same for every cloud.
package inventory

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Provider is implemented by providers that list their objects. The accessor does no I/O.
type Provider interface {
	Inventory() (Lister, bool)
}

// Lister lists the objects of all clusters in the scope of the provider's credentials.
type Lister interface {
	// ListInventory lists the objects that carry the mark of a cluster, or a name that this manager gives. A kind
	// that cannot be listed is reported in the result; the other kinds are complete. It changes nothing. The number
	// of calls does not depend on the number of Services, except with Parts, where the cloud has no list of them.
	ListInventory(ctx context.Context, request Request) Inventory
}

// Request selects what is listed.
type Request struct {
	// ClusterName is the --cluster-name flag, ClusterUID the UID of the namespace kube-system.
	ClusterName, ClusterUID string
	// Parts includes the parts of load balancers.
	Parts bool
}

// Inventory is the result of a list.
type Inventory struct {
	// Cluster is the name of this cluster in the marks of objects.
	Cluster string
	// Kinds are all kinds that were requested, including those without objects.
	Kinds   []Kind
	Objects []Object
}

// Kind is the outcome of the list of one kind.
type Kind struct {
	Name string
	// Needs are the kinds that show whether an object of this kind is in use.
	Needs []string
	// Err is why the list failed. Objects of the kind may be missing then.
	Err error
}

// Object is an object in the cloud.
type Object struct {
	// Kind and Name are those of the object's changes in plans.
	Kind, Name string
	// ID is the cloud's ID of the object; it may equal the name.
	ID string
	// Mark identifies the cluster.
	Mark Mark
	// Owners are the Services that the object is for; the first one created it. Empty for objects of the whole
	// cluster.
	Owners []Owner
	// Parent is the ID of the object that this one is deleted with; empty for others.
	Parent string
	// UsedBy are the IDs of the objects that use this one.
	UsedBy []string
	// Created is the cloud's creation date; zero if the cloud has none.
	Created time.Time
	// Settling is the state of an object that the cloud is still changing; empty for others.
	Settling string
	// Note is a text for users about an object without a mark.
	Note string
	// Keep is the reason why the object outlives its Service; empty for others.
	Keep string
	// Fields are the most important settings, for users.
	Fields []Field
}

// KindTag is the kind of a tag with the name of a Service on an object that stays. Its orphans are removed by an update
// of that object.
const KindTag = "tag"

// Field is a setting of an object.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Mark is how an object identifies its cluster. Both fields are empty for an object that has only a name of ours.
type Mark struct {
	// Cluster is the cluster's name.
	Cluster string `json:"cluster,omitempty"`
	// UID is the UID of the namespace kube-system.
	UID string `json:"clusterUID,omitempty"`
}

// Owner identifies a Service by what its objects show of it.
type Owner struct {
	types.NamespacedName
	// UID is the Service's, or the part of it that the object's name contains.
	UID string
	// LoadBalancer is the name of the load balancer, if it identifies the Service's UID.
	LoadBalancer string
}

// Part returns a part of an object, which has the same mark and owners.
func (o Object) Part(kind, id, name string, fields ...Field) Object {
	return Object{Kind: kind, ID: id, Name: name, Mark: o.Mark, Owners: o.Owners, Parent: o.ID, Settling: o.Settling,
		Created: o.Created, Fields: fields}
}

// Service returns the name of the Service that the object was created for, or "".
func (o Object) Service() string {
	if owner := o.owner(); owner.Name != "" {
		return owner.String()
	}
	return ""
}

// owner returns the Service that the object was created for; empty for objects of the whole cluster.
func (o Object) owner() Owner {
	if len(o.Owners) == 0 {
		return Owner{}
	}
	return o.Owners[0]
}
