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
	// Collect reads all virtual machines that the account can see, and the inventory that contains them, with one
	// property collection. A response in pages has one call for each.
	Collect(ctx context.Context) (Inventory, error)
	// FindByUUID searches virtual machines by BIOS UUID, with the search index.
	FindByUUID(ctx context.Context, uuid string) ([]Ref, error)
	// ReadMachines reads virtual machines by reference. The result is empty for one that the account cannot see.
	ReadMachines(ctx context.Context, refs []Ref) ([]Machine, error)
	// AttachedTags returns the IDs of the tags that are attached to each object.
	AttachedTags(ctx context.Context, refs []Ref) (map[Ref][]string, error)
	// Tag reads a tag, and Category a category of tags, by ID.
	Tag(ctx context.Context, id string) (Tag, error)
	Category(ctx context.Context, id string) (Category, error)
}
