package api

import (
	"context"
	"net/url"
)

// Server is a machine.
type Server struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Zone   string `json:"OS-EXT-AZ:availability_zone"`
	Flavor struct {
		// ID is known up to microversion 2.46, OriginalName from 2.47 on.
		ID           string `json:"id"`
		OriginalName string `json:"original_name"`
	} `json:"flavor"`
	AccessIPv4 string            `json:"accessIPv4"`
	AccessIPv6 string            `json:"accessIPv6"`
	Metadata   map[string]string `json:"metadata"`
	// Addresses are by the names of networks.
	Addresses map[string][]ServerAddress `json:"addresses"`
}

// ServerAddress is an address as Nova remembers it, which may be late by a minute.
type ServerAddress struct {
	Address string `json:"addr"`
	// Type is fixed or floating.
	Type string `json:"OS-EXT-IPS:type"`
}

// Statuses of servers.
const (
	ServerActive      = "ACTIVE"
	ServerBuild       = "BUILD"
	ServerShutOff     = "SHUTOFF"
	ServerDeleted     = "DELETED"
	ServerSoftDeleted = "SOFT_DELETED"
)

// AddressFloating is the type of floating IPs among a server's addresses.
const AddressFloating = "floating"

// Flavor is a type of machine.
type Flavor struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ListServers implements ComputeAPI.
func (c *Clients) ListServers(ctx context.Context, name string) ([]Server, error) {
	query := url.Values(filter{}.add("name", name).add("limit", "1000"))
	return list[Server](ctx, c, reads(Compute, "ListServersDetailed", query, "servers", "detail"), "servers")
}

// GetServer implements ComputeAPI.
func (c *Clients) GetServer(ctx context.Context, id string) (Server, error) {
	return get[Server](ctx, c, Compute, "ShowServer", "server", "servers", id)
}

// ListFlavors implements ComputeAPI.
func (c *Clients) ListFlavors(ctx context.Context) ([]Flavor, error) {
	return list[Flavor](ctx, c, reads(Compute, "ListFlavors", nil, "flavors"), "flavors")
}

// GetFlavor implements ComputeAPI.
func (c *Clients) GetFlavor(ctx context.Context, id string) (Flavor, error) {
	return get[Flavor](ctx, c, Compute, "ShowFlavor", "flavor", "flavors", id)
}
