// Package kinds has the kinds of objects in Octavia, with a row for each field. An object of this package has the
// fields of an existing or of a wanted one, for a comparison.
package kinds

// Fields that plans decide about.
const (
	FieldTags         = "tags"
	FieldDefaultPool  = "default_pool_id"
	FieldAllowedCIDRs = "allowed_cidrs"
	FieldMonitorType  = "type"
	// FieldPoolProtocol and FieldMemberSubnet are why a listener gets another pool.
	FieldPoolProtocol = "pool protocol"
	FieldMemberSubnet = "member subnet_id"
)

// The fields of a load balancer that cannot change in place, and its name.
const (
	FieldPort    = "vip_port_id"
	FieldSubnet  = "vip_subnet_id"
	FieldNetwork = "vip_network_id"
	FieldAddress = "vip_address"
	FieldFlavor  = "flavor_id"
	FieldZone    = "availability_zone"
	FieldName    = "name"
)
