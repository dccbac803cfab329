// Package api is the HTTP API of the fake cloud: its types and paths. The server is package sim; the client
// is package client. Both import this package and not each other.
//
// All bodies are JSON. Errors are Error with an HTTP status. Lists are paged: at most PageSize items, and a
// next token. Reads of several objects by ID or name skip those that do not exist.
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
// Requests: the body of a creation is the Spec if there is one, else the object itself (Pool with its
// members, Listener); the body of LaunchInstances, SetMembers, CreateRoutes and DeleteRoutes is a JSON array;
// the body of a PATCH is the Patch type. Unknown fields are rejected with CodeInvalid. Responses: 201 and the
// object for a creation, 200 and the object for an update (SetMembers: the Pool), 204 and no body for a
// DELETE, 404 NotFound for a DELETE of a missing object. LaunchInstances, CreateRoutes and DeleteRoutes
// return 200 and a Page, in the order of the request. Launching is all or nothing; routes succeed and fail
// one by one.
//
// Every request has the header "Authorization: Bearer TOKEN"; a cloud with a token rejects others with 401.
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

// Error is the body of every response with a status of 400 and above.
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

// Instance is a machine. Terminating it removes it from every response and every pool, and turns its routes
// into blackholes.
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

// InstanceSpec describes a machine to launch. The cloud chooses empty fields. Launching an existing name
// returns the existing instance if the spec does not contradict it (idempotent).
type InstanceSpec struct {
	// ID adopts a machine that already runs outside this cloud under an existing identity: a node of kind.
	// Usually it is empty, and the cloud chooses. A used ID is AlreadyExists.
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

// Address is a public address allocated from a pool. Name is unique in the cloud, so that a creation with a
// lost reply can be found.
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

// AddressSpec describes an address to allocate. IP requests a particular one.
type AddressSpec struct {
	Name    string            `json:"name"`
	Family  string            `json:"family"`
	IP      string            `json:"ip,omitempty"`
	Cluster string            `json:"cluster"`
	Tags    map[string]string `json:"tags,omitempty"`
}

// Load balancer states. While provisioning, changes of children fail with 409 Busy.
const (
	LBProvisioning = "provisioning"
	LBActive       = "active"
)

// LoadBalancer with its pools and listeners. Deleting it deletes them, and detaches its addresses without
// releasing them.
type LoadBalancer struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"` // unique in the cloud
	Cluster string            `json:"cluster"`
	Scheme  string            `json:"scheme"` // public or internal; cannot be changed
	State   string            `json:"state"`
	Tags    map[string]string `json:"tags,omitempty"`
	// AddressIDs of a public load balancer; the cloud assigns Addresses to an internal one.
	AddressIDs []string   `json:"addressIDs,omitempty"`
	Addresses  []string   `json:"addresses"`
	Subnets    []string   `json:"subnets,omitempty"`
	Pools      []Pool     `json:"pools"`
	Listeners  []Listener `json:"listeners"`
	// Warning describes a failure of the data plane, such as a port that cannot be opened. It is not a setting,
	// and may differ between processes.
	Warning string `json:"warning,omitempty"`
}

// LoadBalancerSpec describes a load balancer to create.
type LoadBalancerSpec struct {
	Name       string            `json:"name"`
	Cluster    string            `json:"cluster"`
	Scheme     string            `json:"scheme"`
	Families   []string          `json:"families"` // of the addresses of an internal one
	AddressIDs []string          `json:"addressIDs,omitempty"`
	Subnets    []string          `json:"subnets,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// LoadBalancerPatch changes mutable fields; nil leaves a field unchanged.
type LoadBalancerPatch struct {
	Tags       *map[string]string `json:"tags,omitempty"`
	AddressIDs *[]string          `json:"addressIDs,omitempty"`
	Subnets    *[]string          `json:"subnets,omitempty"`
}

// Algorithms of pools.
const (
	AlgorithmRoundRobin       = "round-robin"
	AlgorithmLeastConnections = "least-connections" // for UDP, the fewest sessions
	AlgorithmSourceIP         = "source-ip"         // a hash of the client's address
)

// Pool holds the targets of one port's traffic.
type Pool struct {
	Name          string      `json:"name"` // unique in the load balancer
	Protocol      string      `json:"protocol"`
	ProxyProtocol int         `json:"proxyProtocol,omitempty"`
	HealthCheck   HealthCheck `json:"healthCheck"`
	// AffinitySeconds is the duration of client IP affinity; 0 disables it.
	AffinitySeconds int `json:"affinitySeconds,omitempty"`
	// Algorithm distributes new connections. Empty is AlgorithmRoundRobin.
	Algorithm string   `json:"algorithm,omitempty"`
	Members   []Member `json:"members"`
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

// PoolPatch changes fields that are mutable in place; nil leaves a field unchanged. SetMembers changes
// members.
type PoolPatch struct {
	ProxyProtocol   *int         `json:"proxyProtocol,omitempty"`
	HealthCheck     *HealthCheck `json:"healthCheck,omitempty"`
	AffinitySeconds *int         `json:"affinitySeconds,omitempty"`
	Algorithm       *string      `json:"algorithm,omitempty"`
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

// ListenerPatch changes fields that are mutable in place; nil leaves a field unchanged, and a pointer to an
// empty list empties it.
type ListenerPatch struct {
	Pool               *string   `json:"pool,omitempty"`
	SourceRanges       *[]string `json:"sourceRanges,omitempty"`
	IdleTimeoutSeconds *int      `json:"idleTimeoutSeconds,omitempty"`
}

// Route is one entry of the region's route table. (Cluster, Destination) is unique.
type Route struct {
	Name        string `json:"name"`
	Cluster     string `json:"cluster"` // empty: created by a user
	Destination string `json:"destination"`
	// InstanceID is the target. Only a route that a user created may have none: it leads to a gateway.
	InstanceID string `json:"instanceID"`
	// Blackhole is set by the cloud when the instance was terminated.
	Blackhole bool `json:"blackhole,omitempty"`
}

// RouteResult is the result of CreateRoutes and DeleteRoutes, one for each route; a nil Error is success.
type RouteResult struct {
	Destination string `json:"destination"`
	Error       *Error `json:"error,omitempty"`
}

// Zone is a failure domain of a region.
type Zone struct {
	Name   string `json:"name"`
	Region string `json:"region"`
}

// InstanceType is a size of instances.
type InstanceType struct {
	Name     string `json:"name"`
	CPUs     int    `json:"cpus"`
	MemoryMB int    `json:"memoryMB"`
}

// Quota is a limit and its usage.
type Quota struct {
	Name  string `json:"name"` // load-balancers, addresses, instances, routes
	Limit int    `json:"limit"`
	Used  int    `json:"used"`
}
