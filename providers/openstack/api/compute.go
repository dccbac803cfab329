package api

import (
	"context"
	"net/url"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/keymanager/v1/secrets"
)

// pageSize is the number of servers of a page; Nova's own limit is 1000 as well.
const pageSize = 1000

// ListServers implements ComputeAPI.
func (c *Clients) ListServers(ctx context.Context, name string) ([]Server, error) {
	return list[Server](ctx, c, reading(Compute, "ListServersDetailed"), "servers",
		servers.ListOpts{Name: name, Limit: pageSize}, "servers", "detail")
}

// GetServer implements ComputeAPI.
func (c *Clients) GetServer(ctx context.Context, id string) (Server, error) {
	return object[Server](ctx, c, reading(Compute, "ShowServer"), "server", func(ctx ctxt, s client) result {
		return servers.Get(ctx, s, url.PathEscape(id)).Result
	})
}

// ListFlavors implements ComputeAPI. gophercloud only lists flavors with all their details.
func (c *Clients) ListFlavors(ctx context.Context) ([]Flavor, error) {
	return list[Flavor](ctx, c, reading(Compute, "ListFlavors"), "flavors", nil, "flavors")
}

// GetFlavor implements ComputeAPI.
func (c *Clients) GetFlavor(ctx context.Context, id string) (Flavor, error) {
	return object[Flavor](ctx, c, reading(Compute, "ShowFlavor"), "flavor", func(ctx ctxt, s client) result {
		return flavors.Get(ctx, s, url.PathEscape(id)).Result
	})
}

// CheckSecret implements KeyManagerAPI.
func (c *Clients) CheckSecret(ctx context.Context, id string) error {
	return c.perform(ctx, reading(KeyManager, "ShowSecret"), func(ctx ctxt, s client) result {
		return secrets.Get(ctx, s, url.PathEscape(id)).Result
	})
}

// CheckContainer implements KeyManagerAPI.
func (c *Clients) CheckContainer(ctx context.Context, id string) error {
	return c.perform(ctx, reading(KeyManager, "ShowContainer"), func(ctx ctxt, s client) result {
		return containers.Get(ctx, s, url.PathEscape(id)).Result
	})
}
