package api

import (
	"context"
	"net/url"

	"github.com/gophercloud/gophercloud/v2/openstack/common/extensions"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/extraroutes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

// ListExtensions implements NetworkAPI.
func (c *Clients) ListExtensions(ctx context.Context) ([]string, error) {
	found, err := list[extensions.Extension](ctx, c, readRequest(Network, "ListExtensions"), "extensions", nil,
		"extensions")
	aliases := make([]string, len(found))
	for i, e := range found {
		aliases[i] = e.Alias
	}
	return aliases, err
}

// ListNetworks implements NetworkAPI. gophercloud selects one ID at a time.
func (c *Clients) ListNetworks(ctx context.Context, ids []string) ([]NeutronNetwork, error) {
	return list[NeutronNetwork](ctx, c, readRequest(Network, "ListNetworks"), "networks", url.Values{"id": ids},
		"networks")
}

// ListExternalNetworks implements NetworkAPI.
func (c *Clients) ListExternalNetworks(ctx context.Context) ([]NeutronNetwork, error) {
	return list[NeutronNetwork](ctx, c, readRequest(Network, "ListNetworks"), "networks",
		url.Values{"router:external": {"true"}}, "networks")
}

// ListSubnets implements NetworkAPI. It includes subnets of other projects: those of shared networks.
func (c *Clients) ListSubnets(ctx context.Context, networkID string) ([]Subnet, error) {
	return list[Subnet](ctx, c, readRequest(Network, "ListSubnets"), "subnets", subnets.ListOpts{NetworkID: networkID},
		"subnets")
}

// GetSubnet implements NetworkAPI.
func (c *Clients) GetSubnet(ctx context.Context, id string) (Subnet, error) {
	return object[Subnet](ctx, c, readRequest(Network, "ShowSubnet"), "subnet",
		func(ctx context.Context, s *serviceClient) result {
			return subnets.Get(ctx, s, url.PathEscape(id)).Result
		})
}

// ListPorts implements NetworkAPI.
func (c *Clients) ListPorts(ctx context.Context, f PortFilter) ([]Port, error) {
	byID := len(f.IDs) > 0 || len(f.DeviceIDs) > 0 || f.SecurityGroup != ""
	return list[Port](ctx, c, readRequest(Network, "ListPorts"), "ports", scopeUnless(byID, f.query()), "ports")
}

// GetPort implements NetworkAPI.
func (c *Clients) GetPort(ctx context.Context, id string) (Port, error) {
	return object[Port](ctx, c, readRequest(Network, "ShowPort"), "port",
		func(ctx context.Context, s *serviceClient) result {
			return ports.Get(ctx, s, url.PathEscape(id)).Result
		})
}

// UpdatePort implements NetworkAPI.
func (c *Clients) UpdatePort(ctx context.Context, id string, o PortUpdate) (Port, error) {
	o.RevisionNumber = expectRevision(o.RevisionNumber)
	return object[Port](ctx, c, writeRequest(Network, "UpdatePort"), "port",
		func(ctx context.Context, s *serviceClient) result {
			return ports.Update(ctx, s, id, o).Result
		})
}

// DeletePort implements NetworkAPI.
func (c *Clients) DeletePort(ctx context.Context, id string) error {
	return performWithID(ctx, c, writeRequest(Network, "DeletePort"), ports.Delete, id)
}

// ListFloatingIPs implements NetworkAPI.
func (c *Clients) ListFloatingIPs(ctx context.Context, portID string) ([]FloatingIP, error) {
	return list[FloatingIP](ctx, c, readRequest(Network, "ListFloatingIPs"), "floatingips",
		scopeUnless(portID != "", floatingips.ListOpts{PortID: portID}), "floatingips")
}

// CreateFloatingIP implements NetworkAPI.
func (c *Clients) CreateFloatingIP(ctx context.Context, o floatingips.CreateOpts) (FloatingIP, error) {
	return object[FloatingIP](ctx, c, createRequest(Network, "CreateFloatingIP"), "floatingip",
		func(ctx context.Context, s *serviceClient) result {
			return floatingips.Create(ctx, s, o).Result
		})
}

// UpdateFloatingIP implements NetworkAPI.
func (c *Clients) UpdateFloatingIP(ctx context.Context, id string, o floatingips.UpdateOpts) (FloatingIP, error) {
	return object[FloatingIP](ctx, c, writeRequest(Network, "UpdateFloatingIP"), "floatingip",
		func(ctx context.Context, s *serviceClient) result {
			return floatingips.Update(ctx, s, id, o).Result
		})
}

// DeleteFloatingIP implements NetworkAPI.
func (c *Clients) DeleteFloatingIP(ctx context.Context, id string) error {
	return performWithID(ctx, c, writeRequest(Network, "DeleteFloatingIP"), floatingips.Delete, id)
}

// ListSecurityGroups implements NetworkAPI.
func (c *Clients) ListSecurityGroups(ctx context.Context, name string) ([]SecurityGroup, error) {
	return list[SecurityGroup](ctx, c, readRequest(Network, "ListSecurityGroups"), "security_groups",
		projectScope{groups.ListOpts{Name: name}}, "security-groups")
}

// CreateSecurityGroup implements NetworkAPI.
func (c *Clients) CreateSecurityGroup(ctx context.Context, o groups.CreateOpts) (SecurityGroup, error) {
	return object[SecurityGroup](ctx, c, createRequest(Network, "CreateSecurityGroup"), "security_group",
		func(ctx context.Context, s *serviceClient) result {
			return groups.Create(ctx, s, o).Result
		})
}

// DeleteSecurityGroup implements NetworkAPI.
func (c *Clients) DeleteSecurityGroup(ctx context.Context, id string) error {
	return performWithID(ctx, c, writeRequest(Network, "DeleteSecurityGroup"), groups.Delete, id)
}

// CreateSecurityGroupRules implements NetworkAPI. A rule is unique, so that the call can be repeated.
func (c *Clients) CreateSecurityGroupRules(ctx context.Context, o []rules.CreateOpts) ([]SecurityGroupRule, error) {
	return object[[]SecurityGroupRule](ctx, c, writeRequest(Network, "CreateSecurityGroupRule"), "security_group_rules",
		func(ctx context.Context, s *serviceClient) result {
			return rules.CreateBulk(ctx, s, o).Result
		})
}

// DeleteSecurityGroupRule implements NetworkAPI.
func (c *Clients) DeleteSecurityGroupRule(ctx context.Context, id string) error {
	return performWithID(ctx, c, writeRequest(Network, "DeleteSecurityGroupRule"), rules.Delete, id)
}

// SetTags implements NetworkAPI.
func (c *Clients) SetTags(ctx context.Context, kind, id string, tags []string) ([]string, error) {
	return object[[]string](ctx, c, writeRequest(Network, "ReplaceTags"), "tags",
		func(ctx context.Context, s *serviceClient) result {
			return attributestags.ReplaceAll(ctx, s, kind, id, attributestags.ReplaceAllOpts{Tags: tags}).Result
		})
}

// AddTag implements NetworkAPI.
func (c *Clients) AddTag(ctx context.Context, kind, id, tag string) error {
	return c.perform(ctx, writeRequest(Network, "AddTag"), func(ctx context.Context, s *serviceClient) result {
		return attributestags.Add(ctx, s, kind, id, url.PathEscape(tag)).Result
	})
}

// RemoveTag implements NetworkAPI.
func (c *Clients) RemoveTag(ctx context.Context, kind, id, tag string) error {
	return c.perform(ctx, writeRequest(Network, "RemoveTag"), func(ctx context.Context, s *serviceClient) result {
		return attributestags.Delete(ctx, s, kind, id, url.PathEscape(tag)).Result
	})
}

// GetRouter implements NetworkAPI.
func (c *Clients) GetRouter(ctx context.Context, id string) (Router, error) {
	return object[Router](ctx, c, readRequest(Network, "ShowRouter"), "router",
		func(ctx context.Context, s *serviceClient) result {
			return routers.Get(ctx, s, url.PathEscape(id)).Result
		})
}

// SetRoutes implements NetworkAPI.
func (c *Clients) SetRoutes(ctx context.Context, id string, revision int, routes []ExtraRoute) (Router, error) {
	if routes == nil {
		routes = []ExtraRoute{}
	}
	return object[Router](ctx, c, writeRequest(Network, "UpdateRouter"), "router",
		func(ctx context.Context, s *serviceClient) result {
			o := routers.UpdateOpts{Routes: &routes, RevisionNumber: expectRevision(&revision)}
			return routers.Update(ctx, s, url.PathEscape(id), o).Result
		})
}

// expectRevision returns the revision that an update requires. It is nil, which accepts any, for an object without a
// revision: the extension may be disabled.
func expectRevision(revision *int) *int {
	if revision != nil && *revision == 0 {
		return nil
	}
	return revision
}

// AddRoutes implements NetworkAPI.
func (c *Clients) AddRoutes(ctx context.Context, id string, routes []ExtraRoute) (Router, error) {
	return object[Router](ctx, c, writeRequest(Network, "AddExtraRoutes"), "router",
		func(ctx context.Context, s *serviceClient) result {
			return extraroutes.Add(ctx, s, url.PathEscape(id), extraroutes.Opts{Routes: &routes}).Result
		})
}

// RemoveRoutes implements NetworkAPI.
func (c *Clients) RemoveRoutes(ctx context.Context, id string, routes []ExtraRoute) (Router, error) {
	return object[Router](ctx, c, writeRequest(Network, "RemoveExtraRoutes"), "router",
		func(ctx context.Context, s *serviceClient) result {
			return extraroutes.Remove(ctx, s, url.PathEscape(id), extraroutes.Opts{Routes: &routes}).Result
		})
}
