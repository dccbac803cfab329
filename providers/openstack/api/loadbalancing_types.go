package api

// Provisioning statuses.
const (
	Active        = "ACTIVE"
	PendingCreate = "PENDING_CREATE"
	PendingUpdate = "PENDING_UPDATE"
	PendingDelete = "PENDING_DELETE"
	Error         = "ERROR"
	Deleted       = "DELETED"
)

// Ref names another object.
type Ref struct {
	ID string `json:"id"`
}

// LoadBalancer is a load balancer without what is in it.
type LoadBalancer struct {
	ID             string   `json:"id"`
	Name           string   `json:"name"`
	Description    string   `json:"description"`
	ProjectID      string   `json:"project_id"`
	Provisioning   string   `json:"provisioning_status"`
	Operating      string   `json:"operating_status"`
	Provider       string   `json:"provider"`
	VIPAddress     string   `json:"vip_address"`
	VIPPortID      string   `json:"vip_port_id"`
	VIPSubnetID    string   `json:"vip_subnet_id"`
	VIPNetworkID   string   `json:"vip_network_id"`
	AdditionalVIPs []VIP    `json:"additional_vips"`
	FlavorID       string   `json:"flavor_id"`
	Zone           string   `json:"availability_zone"`
	Tags           []string `json:"tags"`
	Listeners      []Ref    `json:"listeners"`
	Pools          []Ref    `json:"pools"`
}

// CreatedLoadBalancer is the answer to a creation, with everything in it.
type CreatedLoadBalancer struct {
	LoadBalancer
	Listeners []Listener    `json:"listeners"`
	Pools     []CreatedPool `json:"pools"`
}

// CreatedPool is a pool of the answer to a creation.
type CreatedPool struct {
	Pool
	Members       []Member       `json:"members"`
	HealthMonitor *HealthMonitor `json:"healthmonitor"`
}

// VIP is an address of a load balancer beside the first one.
type VIP struct {
	SubnetID string `json:"subnet_id"`
	Address  string `json:"ip_address,omitempty"`
}

// LoadBalancerFilter selects load balancers; what is empty does not matter.
type LoadBalancerFilter struct {
	Name, VIPPortID string
	// Tags must all be there; of TagsAny at least one.
	Tags, TagsAny []string
}

// LoadBalancerSpec is a load balancer to be made, with what is in it.
type LoadBalancerSpec struct {
	Name           string         `json:"name,omitempty"`
	Description    string         `json:"description,omitempty"`
	Provider       string         `json:"provider,omitempty"`
	VIPAddress     string         `json:"vip_address,omitempty"`
	VIPPortID      string         `json:"vip_port_id,omitempty"`
	VIPSubnetID    string         `json:"vip_subnet_id,omitempty"`
	VIPNetworkID   string         `json:"vip_network_id,omitempty"`
	AdditionalVIPs []VIP          `json:"additional_vips,omitempty"`
	FlavorID       string         `json:"flavor_id,omitempty"`
	Zone           string         `json:"availability_zone,omitempty"`
	Tags           []string       `json:"tags,omitempty"`
	Listeners      []ListenerSpec `json:"listeners,omitempty"`
	Pools          []PoolSpec     `json:"pools,omitempty"`
}

// LoadBalancerPatch is what changes of a load balancer.
type LoadBalancerPatch struct {
	Name        Field[string]   `json:"name,omitzero"`
	Description Field[string]   `json:"description,omitzero"`
	Tags        Field[[]string] `json:"tags,omitzero"`
}

// Protocols of listeners and pools.
const (
	ProtocolTCP             = "TCP"
	ProtocolUDP             = "UDP"
	ProtocolSCTP            = "SCTP"
	ProtocolHTTP            = "HTTP"
	ProtocolHTTPS           = "HTTPS"
	ProtocolTerminatedHTTPS = "TERMINATED_HTTPS"
	ProtocolPROXY           = "PROXY"
	ProtocolPROXYV2         = "PROXYV2"
	ProtocolPrometheus      = "PROMETHEUS"
)

// Listener is a port of a load balancer.
type Listener struct {
	ID              string            `json:"id"`
	Name            string            `json:"name"`
	Description     string            `json:"description"`
	Provisioning    string            `json:"provisioning_status"`
	Operating       string            `json:"operating_status"`
	LoadBalancers   []Ref             `json:"loadbalancers"`
	Protocol        string            `json:"protocol"`
	Port            int               `json:"protocol_port"`
	ConnectionLimit int               `json:"connection_limit"`
	DefaultPoolID   string            `json:"default_pool_id"`
	AllowedCIDRs    []string          `json:"allowed_cidrs"`
	InsertHeaders   map[string]string `json:"insert_headers"`
	TLSContainer    string            `json:"default_tls_container_ref"`
	SNIContainers   []string          `json:"sni_container_refs"`
	// Timeouts in milliseconds.
	TimeoutClientData    int      `json:"timeout_client_data"`
	TimeoutMemberConnect int      `json:"timeout_member_connect"`
	TimeoutMemberData    int      `json:"timeout_member_data"`
	TimeoutTCPInspect    int      `json:"timeout_tcp_inspect"`
	Tags                 []string `json:"tags"`
}

// ListenerSpec is a listener to be made. LoadBalancerID is empty within a LoadBalancerSpec, and
// there the pool comes with the listener. Pointers are what the operator's defaults stand in for.
type ListenerSpec struct {
	LoadBalancerID       string            `json:"loadbalancer_id,omitempty"`
	Name                 string            `json:"name,omitempty"`
	Protocol             string            `json:"protocol"`
	Port                 int               `json:"protocol_port"`
	ConnectionLimit      *int              `json:"connection_limit,omitempty"`
	DefaultPoolID        string            `json:"default_pool_id,omitempty"`
	DefaultPool          *PoolSpec         `json:"default_pool,omitempty"`
	AllowedCIDRs         []string          `json:"allowed_cidrs,omitempty"`
	InsertHeaders        map[string]string `json:"insert_headers,omitempty"`
	TLSContainer         string            `json:"default_tls_container_ref,omitempty"`
	SNIContainers        []string          `json:"sni_container_refs,omitempty"`
	TimeoutClientData    *int              `json:"timeout_client_data,omitempty"`
	TimeoutMemberConnect *int              `json:"timeout_member_connect,omitempty"`
	TimeoutMemberData    *int              `json:"timeout_member_data,omitempty"`
	TimeoutTCPInspect    *int              `json:"timeout_tcp_inspect,omitempty"`
	Tags                 []string          `json:"tags,omitempty"`
}

// ListenerPatch is what changes of a listener. Protocol and port cannot change.
type ListenerPatch struct {
	Name                 Field[string]            `json:"name,omitzero"`
	ConnectionLimit      Field[int]               `json:"connection_limit,omitzero"`
	DefaultPoolID        Field[string]            `json:"default_pool_id,omitzero"`
	AllowedCIDRs         Field[[]string]          `json:"allowed_cidrs,omitzero"`
	InsertHeaders        Field[map[string]string] `json:"insert_headers,omitzero"`
	TLSContainer         Field[string]            `json:"default_tls_container_ref,omitzero"`
	SNIContainers        Field[[]string]          `json:"sni_container_refs,omitzero"`
	TimeoutClientData    Field[int]               `json:"timeout_client_data,omitzero"`
	TimeoutMemberConnect Field[int]               `json:"timeout_member_connect,omitzero"`
	TimeoutMemberData    Field[int]               `json:"timeout_member_data,omitzero"`
	TimeoutTCPInspect    Field[int]               `json:"timeout_tcp_inspect,omitzero"`
	Tags                 Field[[]string]          `json:"tags,omitzero"`
}

// Algorithms of pools.
const (
	AlgorithmRoundRobin       = "ROUND_ROBIN"
	AlgorithmLeastConnections = "LEAST_CONNECTIONS"
	AlgorithmSourceIP         = "SOURCE_IP"
	AlgorithmSourceIPPort     = "SOURCE_IP_PORT"
)

// PersistenceSourceIP is the session persistence by the client's address.
const PersistenceSourceIP = "SOURCE_IP"

// SessionPersistence keeps clients at their members.
type SessionPersistence struct {
	Type       string `json:"type"`
	CookieName string `json:"cookie_name,omitempty"`
	// Timeout in seconds, for UDP and SCTP only.
	Timeout int `json:"persistence_timeout,omitempty"`
}

// Pool is a set of members.
type Pool struct {
	ID              string              `json:"id"`
	Name            string              `json:"name"`
	Provisioning    string              `json:"provisioning_status"`
	Operating       string              `json:"operating_status"`
	Protocol        string              `json:"protocol"`
	Algorithm       string              `json:"lb_algorithm"`
	Persistence     *SessionPersistence `json:"session_persistence"`
	LoadBalancers   []Ref               `json:"loadbalancers"`
	Listeners       []Ref               `json:"listeners"`
	Members         []Ref               `json:"members"`
	HealthMonitorID string              `json:"healthmonitor_id"`
	Tags            []string            `json:"tags"`
}

// PoolSpec is a pool to be made. Within a ListenerSpec it names neither listener nor load balancer.
// Members and HealthMonitor can only be given within a LoadBalancerSpec.
type PoolSpec struct {
	LoadBalancerID string              `json:"loadbalancer_id,omitempty"`
	ListenerID     string              `json:"listener_id,omitempty"`
	Name           string              `json:"name,omitempty"`
	Protocol       string              `json:"protocol"`
	Algorithm      string              `json:"lb_algorithm"`
	Persistence    *SessionPersistence `json:"session_persistence,omitempty"`
	Members        []MemberSpec        `json:"members,omitempty"`
	HealthMonitor  *HealthMonitorSpec  `json:"healthmonitor,omitempty"`
	Tags           []string            `json:"tags,omitempty"`
}

// PoolPatch is what changes of a pool. The protocol cannot change.
type PoolPatch struct {
	Name        Field[string]             `json:"name,omitzero"`
	Algorithm   Field[string]             `json:"lb_algorithm,omitzero"`
	Persistence Field[SessionPersistence] `json:"session_persistence,omitzero"`
	Tags        Field[[]string]           `json:"tags,omitzero"`
}

// Member is a port of a node.
type Member struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Provisioning string `json:"provisioning_status"`
	Operating    string `json:"operating_status"`
	Address      string `json:"address"`
	Port         int    `json:"protocol_port"`
	SubnetID     string `json:"subnet_id"`
	// MonitorPort is 0 where health checks go to Port.
	MonitorPort int      `json:"monitor_port"`
	Weight      int      `json:"weight"`
	Backup      bool     `json:"backup"`
	Tags        []string `json:"tags"`
}

// MemberSpec is a member to be made or kept. What is left out is reset to Octavia's default.
type MemberSpec struct {
	Name        string   `json:"name,omitempty"`
	Address     string   `json:"address"`
	Port        int      `json:"protocol_port"`
	SubnetID    string   `json:"subnet_id,omitempty"`
	MonitorPort int      `json:"monitor_port,omitempty"`
	Weight      *int     `json:"weight,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

// Types of health monitors.
const (
	MonitorTCP        = "TCP"
	MonitorHTTP       = "HTTP"
	MonitorUDPConnect = "UDP-CONNECT"
	MonitorSCTP       = "SCTP"
)

// HealthMonitor checks the members of a pool. Delay and Timeout are in seconds.
type HealthMonitor struct {
	ID             string   `json:"id"`
	Name           string   `json:"name"`
	Provisioning   string   `json:"provisioning_status"`
	Operating      string   `json:"operating_status"`
	Pools          []Ref    `json:"pools"`
	Type           string   `json:"type"`
	Delay          int      `json:"delay"`
	Timeout        int      `json:"timeout"`
	MaxRetries     int      `json:"max_retries"`
	MaxRetriesDown int      `json:"max_retries_down"`
	URLPath        string   `json:"url_path"`
	HTTPMethod     string   `json:"http_method"`
	ExpectedCodes  string   `json:"expected_codes"`
	DomainName     string   `json:"domain_name"`
	HTTPVersion    float64  `json:"http_version"`
	Tags           []string `json:"tags"`
}

// HealthMonitorSpec is a health monitor to be made. PoolID is empty within a PoolSpec.
type HealthMonitorSpec struct {
	PoolID         string   `json:"pool_id,omitempty"`
	Name           string   `json:"name,omitempty"`
	Type           string   `json:"type"`
	Delay          int      `json:"delay"`
	Timeout        int      `json:"timeout"`
	MaxRetries     int      `json:"max_retries"`
	MaxRetriesDown int      `json:"max_retries_down,omitempty"`
	URLPath        string   `json:"url_path,omitempty"`
	HTTPMethod     string   `json:"http_method,omitempty"`
	ExpectedCodes  string   `json:"expected_codes,omitempty"`
	Tags           []string `json:"tags,omitempty"`
}

// HealthMonitorPatch is what changes of a health monitor. The type cannot change.
type HealthMonitorPatch struct {
	Name           Field[string] `json:"name,omitzero"`
	Delay          Field[int]    `json:"delay,omitzero"`
	Timeout        Field[int]    `json:"timeout,omitzero"`
	MaxRetries     Field[int]    `json:"max_retries,omitzero"`
	MaxRetriesDown Field[int]    `json:"max_retries_down,omitzero"`
	URLPath        Field[string] `json:"url_path,omitzero"`
	HTTPMethod     Field[string] `json:"http_method,omitzero"`
	ExpectedCodes  Field[string] `json:"expected_codes,omitzero"`
}
