// Package api is the HTTP API of the fake cloud: the types that travel, and their paths. The
// server is package sim; the client is package fake. Both sides import this package and nothing
// of each other.
//
// All bodies are JSON. Errors are Error with an HTTP status. Lists are paged: at most PageSize
// items, and a next token. Reads of several objects by ID or name skip those that do not exist.
//
//	GET    /v1/instances?ids=a,b&names=x,y&page=T        ListInstances
//	POST   /v1/instances                                 LaunchInstances     (InstanceSpec list)
//	DELETE /v1/instances/{id}                            TerminateInstance
//	POST   /v1/instances/{id}/state                      SetInstanceState
//	GET    /v1/addresses?cluster=C&name=N&prefix=P&page=T  ListAddresses (name prefix P; all clusters if C is empty)
//	POST   /v1/addresses  DELETE /v1/addresses/{id}      AllocateAddress, ReleaseAddress
//	GET    /v1/load-balancers?cluster=C&name=N&page=T    ListLoadBalancers (with their pools and listeners)
//	POST   /v1/load-balancers                            CreateLoadBalancer
//	PATCH  /v1/load-balancers/{id}   DELETE              UpdateLoadBalancer, DeleteLoadBalancer
//	POST   /v1/load-balancers/{id}/pools                 CreatePool
//	PATCH  /v1/load-balancers/{id}/pools/{name} DELETE   UpdatePool, DeletePool
//	PUT    /v1/load-balancers/{id}/pools/{name}/members  SetMembers          (the whole set)
//	POST   /v1/load-balancers/{id}/listeners             CreateListener
//	PATCH  /v1/load-balancers/{id}/listeners/{name} DELETE  UpdateListener, DeleteListener
//	GET    /v1/routes?cluster=C&page=T                   ListRoutes (all clusters' when C is empty)
//	POST   /v1/routes     POST /v1/routes/delete         CreateRoutes, DeleteRoutes (up to RouteBatch each)
//	GET    /v1/zones  /v1/instance-types  /v1/quotas
//
// Requests: a creation's body is the Spec where there is one, else the object itself (Pool with its
// members, Listener); LaunchInstances, SetMembers, CreateRoutes and DeleteRoutes take a bare
// JSON array; a PATCH takes the Patch type. Unknown fields are refused with CodeInvalid.
// Answers: 201 and the object for a creation, 200 and the object for a change (SetMembers: the
// Pool), 204 and no body for a DELETE, 404 NotFound for a DELETE of what does not exist.
// LaunchInstances, CreateRoutes and DeleteRoutes answer 200 and a Page, in the order of the request.
// Launching is all or nothing; routes succeed and fail one by one.
//
// Every request carries "Authorization: Bearer TOKEN"; a cloud with a token refuses others with 401.
package api

import "time"

// Limits of the API.
const (
	PageSize   = 500
	RouteBatch = 100
)

// Error codes.
const (
	CodeNotFound      = "NotFound"      // 404
	CodeAlreadyExists = "AlreadyExists" // 409
	CodeBusy          = "Busy"          // 409: the load balancer is still provisioning
	CodeInUse         = "InUse"         // 409: a pool with listeners, an address with a load balancer
	CodeThrottled     = "Throttled"     // 429, with Retry-After
	CodeUnauthorized  = "Unauthorized"  // 401
	CodeForbidden     = "Forbidden"     // 403
	CodeQuotaExceeded = "QuotaExceeded" // 403
	CodePoolExhausted = "PoolExhausted" // 403: no free address
	CodeInvalid       = "Invalid"       // 400
	CodeInternal      = "Internal"      // 500
)

// Error is the body of every answer with a status of 400 and above.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Page wraps every list.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// Instance states.
const (
	StatePending = "pending"
	StateRunning = "running"
	StateStopped = "stopped"
)

// Instance is a machine. It vanishes from every answer when it is terminated, leaves every pool,
// and turns its routes into blackholes.
type Instance struct {
	ID    string `json:"id"`
	Name  string `json:"name"` // unique in the region; the node name
	Zone  string `json:"zone"`
	Type  string `json:"type"`
	State string `json:"state"`
	// Addresses: internal ones first, IPv4 before IPv6.
	InternalAddresses []string          `json:"internalAddresses"`
	ExternalAddresses []string          `json:"externalAddresses,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	LaunchedAt        time.Time         `json:"launchedAt"`
}

// InstanceSpec describes a machine to launch. Empty fields are chosen by the cloud. Launching a name that
// exists answers with the existing instance if the spec does not contradict it (idempotent).
type InstanceSpec struct {
	// ID lets a machine that runs already, outside this cloud, be adopted under an identity that
	// it has: a node of kind. Empty, as usual, lets the cloud choose. A taken ID is AlreadyExists.
	ID                string            `json:"id,omitempty"`
	Name              string            `json:"name"`
	Zone              string            `json:"zone,omitempty"`
	Type              string            `json:"type,omitempty"`
	InternalAddresses []string          `json:"internalAddresses,omitempty"`
	ExternalAddresses []string          `json:"externalAddresses,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
}

// InstanceState is the body of SetInstanceState.
type InstanceState struct {
	State string `json:"state"`
}

// Address is a public address taken from a pool. Name is unique in the cloud, so that a creation
// whose reply was lost is found again.
type Address struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	IP      string            `json:"ip"`
	Family  string            `json:"family"` // IPv4 or IPv6
	Cluster string            `json:"cluster"`
	Tags    map[string]string `json:"tags,omitempty"`
	// LoadBalancer is the ID of the load balancer that uses it; empty when free.
	LoadBalancer string `json:"loadBalancer,omitempty"`
}

// AddressSpec describes an address to allocate. IP may name a particular one.
type AddressSpec struct {
	Name    string            `json:"name"`
	Family  string            `json:"family"`
	IP      string            `json:"ip,omitempty"`
	Cluster string            `json:"cluster"`
	Tags    map[string]string `json:"tags,omitempty"`
}

// Load balancer states. While provisioning, changes of children answer 409 Busy.
const (
	LBProvisioning = "provisioning"
	LBActive       = "active"
)

// LoadBalancer with its pools and listeners. Deleting it deletes them, and frees its addresses
// without releasing them.
type LoadBalancer struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"` // unique in the cloud
	Cluster string            `json:"cluster"`
	Scheme  string            `json:"scheme"` // public or internal; cannot be changed
	State   string            `json:"state"`
	Tags    map[string]string `json:"tags,omitempty"`
	// AddressIDs of a public load balancer; an internal one gets Addresses from the cloud itself.
	AddressIDs []string   `json:"addressIDs,omitempty"`
	Addresses  []string   `json:"addresses"`
	Subnets    []string   `json:"subnets,omitempty"`
	Pools      []Pool     `json:"pools"`
	Listeners  []Listener `json:"listeners"`
	// Warning says what the data plane cannot do for it, such as open a port. It is not a
	// setting, and differs from reader to reader.
	Warning string `json:"warning,omitempty"`
}

// LoadBalancerSpec describes a load balancer to create.
type LoadBalancerSpec struct {
	Name       string            `json:"name"`
	Cluster    string            `json:"cluster"`
	Scheme     string            `json:"scheme"`
	Families   []string          `json:"families"` // of an internal one's addresses
	AddressIDs []string          `json:"addressIDs,omitempty"`
	Subnets    []string          `json:"subnets,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// LoadBalancerPatch changes what can be changed; nil leaves it alone.
type LoadBalancerPatch struct {
	Tags       *map[string]string `json:"tags,omitempty"`
	AddressIDs *[]string          `json:"addressIDs,omitempty"`
	Subnets    *[]string          `json:"subnets,omitempty"`
}

// Pool is where one port's traffic goes.
type Pool struct {
	Name          string      `json:"name"` // unique in the load balancer
	Protocol      string      `json:"protocol"`
	ProxyProtocol int         `json:"proxyProtocol,omitempty"`
	HealthCheck   HealthCheck `json:"healthCheck"`
	// AffinitySeconds keeps a client on a member; 0 is off.
	AffinitySeconds int      `json:"affinitySeconds,omitempty"`
	Members         []Member `json:"members"`
}

// HealthCheck of a pool's members.
type HealthCheck struct {
	Protocol           string `json:"protocol"` // TCP or HTTP
	Port               int32  `json:"port,omitempty"`
	Path               string `json:"path,omitempty"`
	IntervalSeconds    int    `json:"intervalSeconds"`
	TimeoutSeconds     int    `json:"timeoutSeconds"`
	HealthyThreshold   int    `json:"healthyThreshold"`
	UnhealthyThreshold int    `json:"unhealthyThreshold"`
}

// Member is an instance and the port it receives traffic on.
type Member struct {
	InstanceID string `json:"instanceID"`
	Port       int32  `json:"port"`
}

// PoolPatch changes what can be changed in place; nil leaves it alone. Members have SetMembers.
type PoolPatch struct {
	ProxyProtocol   *int         `json:"proxyProtocol,omitempty"`
	HealthCheck     *HealthCheck `json:"healthCheck,omitempty"`
	AffinitySeconds *int         `json:"affinitySeconds,omitempty"`
}

// Listener is an open port. Protocol and Port cannot be changed.
type Listener struct {
	Name               string   `json:"name"` // unique in the load balancer
	Protocol           string   `json:"protocol"`
	Port               int32    `json:"port"`
	Pool               string   `json:"pool"`
	SourceRanges       []string `json:"sourceRanges,omitempty"`
	IdleTimeoutSeconds int      `json:"idleTimeoutSeconds,omitempty"`
}

// ListenerPatch changes what can be changed in place; nil leaves it alone, and a pointer to an
// empty list empties it.
type ListenerPatch struct {
	Pool               *string   `json:"pool,omitempty"`
	SourceRanges       *[]string `json:"sourceRanges,omitempty"`
	IdleTimeoutSeconds *int      `json:"idleTimeoutSeconds,omitempty"`
}

// Route is one entry of the region's route table. (Cluster, Destination) is unique.
type Route struct {
	Name        string `json:"name"`
	Cluster     string `json:"cluster"` // empty: made by hand
	Destination string `json:"destination"`
	// InstanceID is the target. Only a route made by hand may have none: it leads to a gateway.
	InstanceID string `json:"instanceID"`
	// Blackhole is set by the cloud when the instance was terminated.
	Blackhole bool `json:"blackhole,omitempty"`
}

// RouteResult answers CreateRoutes and DeleteRoutes, one for each route; a nil Error is success.
type RouteResult struct {
	Destination string `json:"destination"`
	Error       *Error `json:"error,omitempty"`
}

// Zone is one part of a region.
type Zone struct {
	Name   string `json:"name"`
	Region string `json:"region"`
}

// InstanceType is a size.
type InstanceType struct {
	Name     string `json:"name"`
	CPUs     int    `json:"cpus"`
	MemoryMB int    `json:"memoryMB"`
}

// Quota is a limit and what is used of it.
type Quota struct {
	Name  string `json:"name"` // load-balancers, addresses, instances, routes
	Limit int    `json:"limit"`
	Used  int    `json:"used"`
}
