// Package api has every call to a vCenter that the provider may make, as one narrow interface, and the objects that
// the calls return. All calls are reads: the provider never changes anything in a vCenter.
package api

import "context"

// The services of a vCenter, as labels of metrics.
const (
	// ServiceInventory is the SOAP API, at /sdk.
	ServiceInventory = "vim"
	// ServiceTagging is the REST API of tags, at /rest.
	ServiceTagging = "tagging"
)

// VCenter makes the calls to one vCenter. Errors have a class of package cloudapi. NotFound is only returned if the
// vCenter has answered that this object does not exist.
type VCenter interface {
	// Identity returns the instance UUID of the vCenter. It makes no call in a session.
	Identity(ctx context.Context) (string, error)
	// Collect reads all virtual machines below these objects that the account can see, or in the whole vCenter without
	// any, and the inventory that contains them, with one property collection. A vCenter answers in pages, of 100 objects
	// by default, each of which is a call. The collection ends with the context.
	Collect(ctx context.Context, below []Ref) (Inventory, error)
	// Datacenters reads the datacenters and the folders above them.
	Datacenters(ctx context.Context) (Inventory, error)
	// FindByUUID searches virtual machines by BIOS UUID, with the search index. FindByName searches them by the name of
	// the guest, and FindByAddress by its address.
	FindByUUID(ctx context.Context, uuid string) ([]Ref, error)
	FindByName(ctx context.Context, name string) ([]Ref, error)
	FindByAddress(ctx context.Context, address string) ([]Ref, error)
	// Read reads virtual machines by reference, and the objects above them if above is set. It omits those that do not
	// exist.
	Read(ctx context.Context, refs []Ref, above bool) (Inventory, error)
	// Ancestors reads objects that contain virtual machines, and the objects above them.
	Ancestors(ctx context.Context, refs []Ref) (map[Ref]Entity, error)
	// ReadMachines reads virtual machines by reference. The result is empty for one that the account cannot see. The
	// class is NotFound if one does not exist.
	ReadMachines(ctx context.Context, refs []Ref) ([]Machine, error)
	// AttachedTags returns the IDs of the tags that are attached to each object.
	AttachedTags(ctx context.Context, refs []Ref) (map[Ref][]string, error)
	// Tag reads a tag, and Category a category of tags, by ID.
	Tag(ctx context.Context, id string) (Tag, error)
	Category(ctx context.Context, id string) (Category, error)
}
