package api

import (
	"context"
	"net/http"
	"net/url"
)

// ListExtensions implements NetworkAPI.
func (c *Clients) ListExtensions(ctx context.Context) ([]string, error) {
	type extension struct {
		Alias string `json:"alias"`
	}
	found, err := list[extension](ctx, c, reads(Network, "ListExtensions", nil, "extensions"), "extensions")
	aliases := make([]string, len(found))
	for i, e := range found {
		aliases[i] = e.Alias
	}
	return aliases, err
}

// ListNetworks implements NetworkAPI.
func (c *Clients) ListNetworks(ctx context.Context, f NetworkFilter) ([]NeutronNetwork, error) {
	query := filter{}.add("id", f.IDs...)
	if f.External {
		query.add("router:external", "true")
	}
	return list[NeutronNetwork](ctx, c, reads(Network, "ListNetworks", url.Values(query), "networks"), "networks")
}

// ListSubnets implements NetworkAPI.
func (c *Clients) ListSubnets(ctx context.Context, f SubnetFilter) ([]Subnet, error) {
	query := filter{}.add("id", f.IDs...).add("network_id", f.NetworkID).
		joined("tags", f.Tags).joined("tags-any", f.TagsAny).joined("not-tags", f.NotTags).joined("not-tags-any", f.NotTagsAny)
	return list[Subnet](ctx, c, reads(Network, "ListSubnets", url.Values(query), "subnets"), "subnets")
}

// GetSubnet implements NetworkAPI.
func (c *Clients) GetSubnet(ctx context.Context, id string) (Subnet, error) {
	return get[Subnet](ctx, c, Network, "ShowSubnet", "subnet", "subnets", id)
}

// ListPorts implements NetworkAPI.
func (c *Clients) ListPorts(ctx context.Context, f PortFilter) ([]Port, error) {
	query := filter{}.add("id", f.IDs...).add("device_id", f.DeviceIDs...).add("device_owner", f.DeviceOwner).
		add("network_id", f.NetworkID).add("name", f.Name).add("security_groups", f.SecurityGroups...)
	for _, address := range f.Addresses {
		query.add("fixed_ips", "ip_address="+address)
	}
	return list[Port](ctx, c, reads(Network, "ListPorts", url.Values(query), Ports), "ports")
}

// GetPort implements NetworkAPI.
func (c *Clients) GetPort(ctx context.Context, id string) (Port, error) {
	return get[Port](ctx, c, Network, "ShowPort", "port", Ports, id)
}

// UpdatePort implements NetworkAPI.
func (c *Clients) UpdatePort(ctx context.Context, id string, revision int, p PortPatch) (Port, error) {
	return change[Port](ctx, c, put(Network, "UpdatePort", revision, Ports, id), "port", p)
}

// DeletePort implements NetworkAPI.
func (c *Clients) DeletePort(ctx context.Context, id string) error {
	return c.remove(ctx, Network, "DeletePort", nil, Ports, id)
}

// ListFloatingIPs implements NetworkAPI.
func (c *Clients) ListFloatingIPs(ctx context.Context, f FloatingIPFilter) ([]FloatingIP, error) {
	query := filter{}.add("port_id", f.PortIDs...).add("floating_ip_address", f.Address).joined("tags", f.Tags)
	return list[FloatingIP](ctx, c, reads(Network, "ListFloatingIPs", url.Values(query), FloatingIPs), "floatingips")
}

// CreateFloatingIP implements NetworkAPI.
func (c *Clients) CreateFloatingIP(ctx context.Context, s FloatingIPSpec) (FloatingIP, error) {
	return change[FloatingIP](ctx, c, post(Network, "CreateFloatingIP", FloatingIPs), "floatingip", s)
}

// UpdateFloatingIP implements NetworkAPI.
func (c *Clients) UpdateFloatingIP(ctx context.Context, id string, p FloatingIPPatch) (FloatingIP, error) {
	return change[FloatingIP](ctx, c, put(Network, "UpdateFloatingIP", 0, FloatingIPs, id), "floatingip", p)
}

// DeleteFloatingIP implements NetworkAPI.
func (c *Clients) DeleteFloatingIP(ctx context.Context, id string) error {
	return c.remove(ctx, Network, "DeleteFloatingIP", nil, FloatingIPs, id)
}

// ListSecurityGroups implements NetworkAPI.
func (c *Clients) ListSecurityGroups(ctx context.Context, f SecurityGroupFilter) ([]SecurityGroup, error) {
	query := filter{}.add("id", f.IDs...).add("name", f.Names...).joined("tags", f.Tags)
	return list[SecurityGroup](ctx, c, reads(Network, "ListSecurityGroups", url.Values(query), SecurityGroups), "security_groups")
}

// CreateSecurityGroup implements NetworkAPI.
func (c *Clients) CreateSecurityGroup(ctx context.Context, s SecurityGroupSpec) (SecurityGroup, error) {
	return change[SecurityGroup](ctx, c, post(Network, "CreateSecurityGroup", SecurityGroups), "security_group", s)
}

// DeleteSecurityGroup implements NetworkAPI.
func (c *Clients) DeleteSecurityGroup(ctx context.Context, id string) error {
	return c.remove(ctx, Network, "DeleteSecurityGroup", nil, SecurityGroups, id)
}

// CreateSecurityGroupRules implements NetworkAPI. A rule is unique, so that the call can be repeated.
func (c *Clients) CreateSecurityGroupRules(ctx context.Context, rules []SecurityGroupRuleSpec) ([]SecurityGroupRule, error) {
	r := post(Network, "CreateSecurityGroupRule", "security-group-rules")
	r.repeatable = true
	return change[[]SecurityGroupRule](ctx, c, r, "security_group_rules", rules)
}

// DeleteSecurityGroupRule implements NetworkAPI.
func (c *Clients) DeleteSecurityGroupRule(ctx context.Context, id string) error {
	return c.remove(ctx, Network, "DeleteSecurityGroupRule", nil, "security-group-rules", id)
}

// SetTags implements NetworkAPI. It returns the tags that the object has now.
func (c *Clients) SetTags(ctx context.Context, kind, id string, tags []string) ([]string, error) {
	return change[[]string](ctx, c, put(Network, "ReplaceTags", 0, kind, id, "tags"), "tags", tags)
}

// AddTag implements NetworkAPI. A tag that is there already is no error.
func (c *Clients) AddTag(ctx context.Context, kind, id, tag string) error {
	return c.do(ctx, put(Network, "AddTag", 0, kind, id, "tags", tag), nil)
}

// RemoveTag implements NetworkAPI.
func (c *Clients) RemoveTag(ctx context.Context, kind, id, tag string) error {
	return c.remove(ctx, Network, "RemoveTag", nil, kind, id, "tags", tag)
}

// GetRouter implements NetworkAPI.
func (c *Clients) GetRouter(ctx context.Context, id string) (Router, error) {
	return get[Router](ctx, c, Network, "ShowRouter", "router", Routers, id)
}

// routesBody is how routes are sent.
type routesBody struct {
	Routes []ExtraRoute `json:"routes"`
}

// SetRoutes implements NetworkAPI.
func (c *Clients) SetRoutes(ctx context.Context, id string, revision int, routes []ExtraRoute) (Router, error) {
	if routes == nil {
		routes = []ExtraRoute{}
	}
	return change[Router](ctx, c, put(Network, "UpdateRouter", revision, Routers, id), "router", routesBody{routes})
}

// AddRoutes implements NetworkAPI. A route that is there already is no error.
func (c *Clients) AddRoutes(ctx context.Context, id string, revision int, routes []ExtraRoute) (Router, error) {
	return change[Router](ctx, c, put(Network, "AddExtraRoutes", revision, Routers, id, "add_extraroutes"), "router", routesBody{routes})
}

// RemoveRoutes implements NetworkAPI. A route that is not there is no error.
func (c *Clients) RemoveRoutes(ctx context.Context, id string, revision int, routes []ExtraRoute) (Router, error) {
	return change[Router](ctx, c, put(Network, "RemoveExtraRoutes", revision, Routers, id, "remove_extraroutes"), "router", routesBody{routes})
}

func post(service, operation string, path ...string) request {
	return request{service: service, operation: operation, method: http.MethodPost, path: path}
}

func put(service, operation string, revision int, path ...string) request {
	return request{service: service, operation: operation, method: http.MethodPut, path: path, revision: revision}
}
