package octavia

import (
	"net/netip"
	"slices"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/barbican"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/nova"
)

// Algorithms of pools.
const (
	algorithmRoundRobin       = "ROUND_ROBIN"
	algorithmLeastConnections = "LEAST_CONNECTIONS"
	algorithmSourceIP         = "SOURCE_IP"
	algorithmSourceIPPort     = "SOURCE_IP_PORT"
)

// Types of health monitors.
const (
	monitorHTTP = "HTTP"
	monitorPing = "PING"
	monitorTCP  = "TCP"
	monitorUDP  = "UDP-CONNECT"
	monitorSCTP = "SCTP"
)

const persistenceSourceIP = "SOURCE_IP"

// timeFormat is the time format of Octavia.
const timeFormat = "2006-01-02T15:04:05"

// Provisioning and operating statuses of Octavia. ACTIVE is neutron.StatusActive.
const (
	pendingCreate = "PENDING_CREATE"
	pendingUpdate = "PENDING_UPDATE"
	pendingDelete = "PENDING_DELETE"
	statusError   = "ERROR"

	operatingOnline    = "ONLINE"
	operatingOffline   = "OFFLINE"
	operatingNoMonitor = "NO_MONITOR"
	operatingError     = "ERROR"
)

// State has all objects by ID.
type State struct {
	Balancers map[string]*balancer
	Listeners map[string]*listener
	Pools     map[string]*pool
	Monitors  map[string]*monitor
	LBFlavors map[string]*LBFlavor
	// changes are in progress; outcomeRules are for future changes.
	changes      []*pendingChange
	outcomeRules []*outcomeRule
}

// NewState returns the state without objects.
func NewState() *State {
	return &State{
		Balancers: map[string]*balancer{}, Listeners: map[string]*listener{}, Pools: map[string]*pool{},
		Monitors: map[string]*monitor{}, LBFlavors: map[string]*LBFlavor{},
	}
}

// Tx is one operation on the state.
type Tx struct {
	*nova.Tx
	*State
	// Secrets has the secrets of Barbican.
	Secrets *barbican.Tx
}

// base is embedded in all objects of Octavia.
type base struct {
	core.Object
	Name         string   `json:"name" default:""`
	Project      string   `json:"project_id"`
	Tenant       string   `json:"tenant_id"`
	AdminStateUp bool     `json:"admin_state_up" default:"true"`
	Provisioning string   `json:"provisioning_status"`
	Operating    string   `json:"operating_status"`
	Created      string   `json:"created_at"`
	Updated      *string  `json:"updated_at"`
	Tags         []string `json:"tags" default:"[]"`
}

func (o *base) common() *base { return o }

// entity is a pointer to a struct that embeds base.
type entity interface {
	core.Entity
	common() *base
}

// ref refers to another object.
type ref struct {
	ID string `json:"id"`
}

type additionalVIP struct {
	Subnet  string `json:"subnet_id"`
	Address string `json:"ip_address"`
}

type balancer struct {
	base
	Description string          `json:"description" default:""`
	Provider    string          `json:"provider"`
	VIP         string          `json:"vip_address"`
	VIPPort     string          `json:"vip_port_id"`
	VIPSubnet   string          `json:"vip_subnet_id"`
	VIPNetwork  string          `json:"vip_network_id"`
	VIPQoS      *string         `json:"vip_qos_policy_id"`
	Additional  []additionalVIP `json:"additional_vips"`
	Flavor      *string         `json:"flavor_id"`
	Zone        *string         `json:"availability_zone"`
	Listeners   []ref           `json:"listeners"`
	Pools       []ref           `json:"pools"`

	listeners []*listener
	pools     []*pool
}

// families returns for each address of a load balancer whether it is an IPv4 address.
func (b *balancer) families() []bool {
	out := []bool{netip.MustParseAddr(b.VIP).Is4()}
	for _, a := range b.Additional {
		if ip, err := netip.ParseAddr(a.Address); err == nil {
			out = append(out, ip.Is4())
		}
	}
	return out
}

type listener struct {
	base
	Description   string            `json:"description" default:""`
	Protocol      string            `json:"protocol"`
	Port          int               `json:"protocol_port"`
	Connections   int               `json:"connection_limit" default:"-1"`
	DefaultPool   *string           `json:"default_pool_id"`
	Certificate   *string           `json:"default_tls_container_ref"`
	SNI           []string          `json:"sni_container_refs" default:"[]"`
	Headers       map[string]string `json:"insert_headers" default:"{}"`
	ClientData    int               `json:"timeout_client_data" default:"50000"`
	MemberConnect int               `json:"timeout_member_connect" default:"5000"`
	MemberData    int               `json:"timeout_member_data" default:"50000"`
	Inspect       int               `json:"timeout_tcp_inspect" default:"0"`
	CIDRs         []string          `json:"allowed_cidrs" default:"null"`
	ClientAuth    string            `json:"client_authentication" default:"NONE"`
	ClientCA      *string           `json:"client_ca_tls_container_ref"`
	ClientCRL     *string           `json:"client_crl_container_ref"`
	Ciphers       *string           `json:"tls_ciphers"`
	TLSVersions   []string          `json:"tls_versions" default:"null"`
	ALPN          []string          `json:"alpn_protocols" default:"null"`
	Policies      []any             `json:"l7policies"`
	LoadBalancers []ref             `json:"loadbalancers"`

	balancer *balancer
}

type pool struct {
	base
	Description   string       `json:"description" default:""`
	Protocol      string       `json:"protocol"`
	Algorithm     string       `json:"lb_algorithm" default:"ROUND_ROBIN"`
	Persistence   *persistence `json:"session_persistence"`
	LoadBalancers []ref        `json:"loadbalancers"`
	Listeners     []ref        `json:"listeners"`
	Members       []ref        `json:"members"`
	Monitor       *string      `json:"healthmonitor_id"`
	TLS           bool         `json:"tls_enabled" default:"false"`
	Certificate   *string      `json:"tls_container_ref"`
	CA            *string      `json:"ca_tls_container_ref"`
	CRL           *string      `json:"crl_container_ref"`
	Ciphers       *string      `json:"tls_ciphers"`
	TLSVersions   []string     `json:"tls_versions" default:"null"`
	ALPN          []string     `json:"alpn_protocols" default:"null"`

	balancer *balancer
	members  []*member
	monitor  *monitor
}

// referrers returns the listeners with the pool as their default pool.
func (p *pool) referrers() []*listener {
	return core.Only(slices.Clone(p.balancer.listeners),
		func(l *listener) bool { return core.Deref(l.DefaultPool) == p.ID })
}

type persistence struct {
	Type        string  `json:"type"`
	Cookie      *string `json:"cookie_name"`
	Timeout     *int    `json:"persistence_timeout"`
	Granularity *string `json:"persistence_granularity"`
}

type member struct {
	base
	Address        string  `json:"address"`
	Port           int     `json:"protocol_port"`
	Weight         int     `json:"weight" default:"1"`
	Backup         bool    `json:"backup" default:"false"`
	Subnet         *string `json:"subnet_id"`
	MonitorAddress *string `json:"monitor_address"`
	MonitorPort    *int    `json:"monitor_port"`

	pool *pool
}

type monitor struct {
	base
	Type     string   `json:"type"`
	Delay    int      `json:"delay"`
	Timeout  int      `json:"timeout"`
	Retries  int      `json:"max_retries"`
	Down     int      `json:"max_retries_down" default:"3"`
	Method   *string  `json:"http_method"`
	Path     *string  `json:"url_path"`
	Codes    *string  `json:"expected_codes"`
	Version  *float64 `json:"http_version"`
	Domain   *string  `json:"domain_name"`
	PoolRefs []ref    `json:"pools"`

	pool *pool
}

// pendingChange is a change of a load balancer in progress.
type pendingChange struct {
	// due is when the change ends.
	due      time.Time
	balancer *balancer
	// parts are the changed children of the load balancer.
	parts   []entity
	outcome Outcome
}

// Outcome is how a change of a load balancer ends.
type Outcome string

// OutcomeRule selects changes of load balancers and their outcome.
type OutcomeRule struct {
	Outcome Outcome
	// Operation, if set, restricts the rule to changes by that operation, such as CreateLoadBalancer.
	Operation string
	// Call is the number of the first change with this outcome, counted from 1 since SetOutcomes; 0 is the first
	// one.
	Call int
	// Times is the number of changes with this outcome; 0 means one, and less than 0 all.
	Times int
}

type outcomeRule struct {
	OutcomeRule
	// seen counts the changes that the rule selects, applied those with its outcome.
	seen, applied int
}
