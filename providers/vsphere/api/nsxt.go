package api

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// ServiceNSXT is the policy API of NSX-T, as a label of metrics.
const ServiceNSXT = "nsxt"

// The collections of the policy API that the provider reads and, except for the last ones, writes.
const (
	LBServices       = "/infra/lb-services"
	LBVirtualServers = "/infra/lb-virtual-servers"
	LBPools          = "/infra/lb-pools"
	LBMonitors       = "/infra/lb-monitor-profiles"
	Groups           = "/infra/domains/default/groups"
	LBAppProfiles    = "/infra/lb-app-profiles"
	IPPools          = "/infra/ip-pools"
)

// Allocations returns the collection of the allocated addresses of a pool.
func Allocations(pool string) string { return IPPools + "/" + pool + "/ip-allocations" }

// StaticRoutes returns the collection of the routes of a Tier-1 gateway.
func StaticRoutes(tier1 string) string { return tier1 + "/static-routes" }

// NSXT makes the calls to a manager of NSX-T. Documents are objects in JSON. Errors have a class of package cloudapi.
type NSXT interface {
	// List reads all objects of a collection, all pages.
	List(ctx context.Context, collection string) ([]json.RawMessage, error)
	// Put creates an object, or replaces it if the document has its current revision. The class is Conflict for any
	// other revision, and if the document of an existing object has none. The error is ErrMarkedForDeletion for the path
	// of an object that was deleted a short time ago.
	Put(ctx context.Context, path string, document []byte) (json.RawMessage, error)
	// Delete deletes an object. The class is Conflict while others refer to it.
	Delete(ctx context.Context, path string) error
	// AllocatedAddress returns the address of an allocation once it is realized, "" before. chosen is the address that it
	// requests, "" for any. The error is ErrNotAllocated if there will be none.
	AllocatedAddress(ctx context.Context, path, chosen string) (string, error)
}

// ErrMarkedForDeletion means that no object can be created at a path yet: the one that was deleted is still to be
// removed. NSX-T does so every PurgeTime.
var ErrMarkedForDeletion = errors.New("an object of this ID was deleted and is not removed yet")

// PurgeTime is the time within which NSX-T removes deleted objects, if it can.
const PurgeTime = 5 * time.Minute

// ErrNotAllocated means that a pool has no free address, or not the chosen one.
var ErrNotAllocated = errors.New("the address cannot be allocated")

// NSXTag is a tag of an object.
type NSXTag struct {
	Scope string `json:"scope"`
	Tag   string `json:"tag"`
}

// Resource has the fields of all objects.
type Resource struct {
	ResourceType string   `json:"resource_type,omitempty"`
	ID           string   `json:"id,omitempty"`
	Path         string   `json:"path,omitempty"`
	DisplayName  string   `json:"display_name,omitempty"`
	Description  string   `json:"description,omitempty"`
	Tags         []NSXTag `json:"tags"`
	Revision     *int64   `json:"_revision,omitempty"`
	// CreateTime is the creation date in milliseconds since 1970, which the manager sets.
	CreateTime int64 `json:"_create_time,omitempty"`

	// document is the object as it was read, with fields that its type lacks.
	document []byte
}

func (r *Resource) resource() *Resource { return r }

// Common returns the fields of all objects.
func (r Resource) Common() Resource { return r }

// SetTags replaces the tags.
func (r *Resource) SetTags(tags []NSXTag) { r.Tags = tags }

// Created returns the creation date, the zero time without one.
func (r Resource) Created() time.Time {
	if r.CreateTime == 0 {
		return time.Time{}
	}
	return time.UnixMilli(r.CreateTime)
}

// Tag returns the value of a tag, "" without it.
func (r Resource) Tag(scope string) string {
	for _, t := range r.Tags {
		if t.Scope == scope {
			return t.Tag
		}
	}
	return ""
}

// The kinds of objects. Their fields have the names of the API.
type (
	// LBService is a load balancer service, which runs on a Tier-1 gateway.
	LBService struct {
		Resource
		Size             string `json:"size,omitempty"`
		Enabled          bool   `json:"enabled"`
		ConnectivityPath string `json:"connectivity_path,omitempty"`
	}
	// LBVirtualServer is one port of an address.
	LBVirtualServer struct {
		Resource
		Enabled                bool           `json:"enabled"`
		IPAddress              string         `json:"ip_address"`
		Ports                  []string       `json:"ports"`
		DefaultPoolMemberPorts []string       `json:"default_pool_member_ports"`
		ApplicationProfilePath string         `json:"application_profile_path"`
		PoolPath               string         `json:"pool_path,omitempty"`
		LBServicePath          string         `json:"lb_service_path,omitempty"`
		AccessListControl      *AccessControl `json:"access_list_control,omitempty"`
	}
	// AccessControl restricts clients to those in a group.
	AccessControl struct {
		Action    string `json:"action"`
		Enabled   bool   `json:"enabled"`
		GroupPath string `json:"group_path"`
	}
	// LBPool has the members of virtual servers.
	LBPool struct {
		Resource
		Members            []LBPoolMember `json:"members"`
		ActiveMonitorPaths []string       `json:"active_monitor_paths"`
		Algorithm          string         `json:"algorithm,omitempty"`
		SNATTranslation    *SNAT          `json:"snat_translation,omitempty"`
	}
	// LBPoolMember is a member, without the port of its virtual server. Weight and the fields after it are set by users.
	LBPoolMember struct {
		DisplayName string `json:"display_name,omitempty"`
		IPAddress   string `json:"ip_address"`
		AdminState  string `json:"admin_state,omitempty"`
		Port        string `json:"port,omitempty"`
		Weight      int64  `json:"weight,omitempty"`
		Backup      bool   `json:"backup_member,omitempty"`
		MaxConns    int64  `json:"max_concurrent_connections,omitempty"`
	}
	// SNAT is the translation of the addresses of clients.
	SNAT struct {
		Type string `json:"type"`
	}
	// LBMonitor probes the members of a pool.
	LBMonitor struct {
		Resource
		MonitorPort int64   `json:"monitor_port,omitempty"`
		Interval    int64   `json:"interval,omitempty"`
		Timeout     int64   `json:"timeout,omitempty"`
		RiseCount   int64   `json:"rise_count,omitempty"`
		FallCount   int64   `json:"fall_count,omitempty"`
		RequestURL  string  `json:"request_url,omitempty"`
		StatusCodes []int64 `json:"response_status_codes,omitempty"`
	}
	// IPAllocation is an address of a pool.
	IPAllocation struct {
		Resource
		AllocationIP string `json:"allocation_ip,omitempty"`
		// Address is the allocated address, which may be only in the realized state.
		Address string `json:"-"`
		// Failed is set if the pool has no address for it.
		Failed bool `json:"-"`
		// Pool is the ID of the pool.
		Pool string `json:"-"`
	}
	// Group is a set of addresses.
	Group struct {
		Resource
		Expression []AddressExpression `json:"expression"`
	}
	// AddressExpression lists ranges.
	AddressExpression struct {
		ResourceType string   `json:"resource_type"`
		IPAddresses  []string `json:"ip_addresses"`
	}
	// StaticRoute is a route of a Tier-1 gateway.
	StaticRoute struct {
		Resource
		Network  string    `json:"network"`
		NextHops []NextHop `json:"next_hops"`
	}
	// NextHop is the target of a route.
	NextHop struct {
		IPAddress     string `json:"ip_address"`
		AdminDistance int64  `json:"admin_distance,omitempty"`
	}
)
