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
	return list[Server](ctx, c, readRequest(Compute, "ListServersDetailed"), "servers",
		servers.ListOpts{Name: name, Limit: pageSize}, "servers", "detail")
}

// GetServer implements ComputeAPI.
func (c *Clients) GetServer(ctx context.Context, id string) (Server, error) {
	return object[Server](ctx, c, readRequest(Compute, "ShowServer"), "server",
		func(ctx context.Context, s *serviceClient) result {
			return servers.Get(ctx, s, url.PathEscape(id)).Result
		})
}

// ListFlavors implements ComputeAPI. gophercloud only lists flavors with all their details.
func (c *Clients) ListFlavors(ctx context.Context) ([]Flavor, error) {
	return list[Flavor](ctx, c, readRequest(Compute, "ListFlavors"), "flavors", nil, "flavors")
}

// GetFlavor implements ComputeAPI.
func (c *Clients) GetFlavor(ctx context.Context, id string) (Flavor, error) {
	return object[Flavor](ctx, c, readRequest(Compute, "ShowFlavor"), "flavor",
		func(ctx context.Context, s *serviceClient) result {
			return flavors.Get(ctx, s, url.PathEscape(id)).Result
		})
}

// CheckSecret implements KeyManagerAPI.
func (c *Clients) CheckSecret(ctx context.Context, id string) error {
	return c.perform(ctx, readRequest(KeyManager, "ShowSecret"), func(ctx context.Context, s *serviceClient) result {
		return secrets.Get(ctx, s, url.PathEscape(id)).Result
	})
}

// CheckContainer implements KeyManagerAPI.
func (c *Clients) CheckContainer(ctx context.Context, id string) error {
	return c.perform(ctx, readRequest(KeyManager, "ShowContainer"), func(ctx context.Context, s *serviceClient) result {
		return containers.Get(ctx, s, url.PathEscape(id)).Result
	})
}
