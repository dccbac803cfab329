package octavia

import (
	"cmp"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

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

// Protocols of listeners and pools.
const (
	protocolTCP        = "TCP"
	protocolUDP        = "UDP"
	protocolSCTP       = "SCTP"
	protocolHTTP       = "HTTP"
	protocolHTTPS      = "HTTPS"
	protocolTerminated = "TERMINATED_HTTPS"
	protocolPROXY      = "PROXY"
	protocolPROXYv2    = "PROXYV2"
	protocolPrometheus = "PROMETHEUS"
)

func listenerOperations() []core.Operation[*Tx] {
	r := newResource("Listener", "listener", func(t *Tx) map[string]*listener { return t.Listeners }, (*Tx).listener)
	byBalancer := func(l *listener, ids []string) bool { return slices.Contains(ids, l.balancer.ID) }
	r.Filters = map[string]core.Filter[*listener]{"loadbalancer_id": byBalancer, "load_balancer_id": byBalancer}
	return append(childOperations[listener, listenerSettings](r, (*Tx).createListener),
		core.Read("ShowListenerStatistics", r.Path+"/{id}/stats", func(t *Tx) (any, error) {
			_, err := r.Get(t)
			return noTraffic(), err
		}))
}

func (t *Tx) listener(id string) (*listener, error) {
	return lookup(t, t.Listeners, "Listener", id)
}

// listenerSettings are the fields of requests to create and to update a listener.
type listenerSettings struct {
	Name          opt[string]            `json:"name"`
	Description   opt[string]            `json:"description"`
	AdminStateUp  opt[bool]              `json:"admin_state_up"`
	Connections   opt[int]               `json:"connection_limit"`
	DefaultPool   opt[string]            `json:"default_pool_id"`
	Certificate   opt[string]            `json:"default_tls_container_ref"`
	SNI           opt[[]string]          `json:"sni_container_refs"`
	Headers       opt[map[string]string] `json:"insert_headers"`
	ClientData    opt[int]               `json:"timeout_client_data"`
	MemberConnect opt[int]               `json:"timeout_member_connect"`
	MemberData    opt[int]               `json:"timeout_member_data"`
	Inspect       opt[int]               `json:"timeout_tcp_inspect"`
	CIDRs         opt[[]string]          `json:"allowed_cidrs"`
	ClientAuth    opt[string]            `json:"client_authentication"`
	ClientCA      opt[string]            `json:"client_ca_tls_container_ref"`
	ClientCRL     opt[string]            `json:"client_crl_container_ref"`
	Ciphers       opt[string]            `json:"tls_ciphers"`
	TLSVersions   opt[[]string]          `json:"tls_versions"`
	ALPN          opt[[]string]          `json:"alpn_protocols"`
	Tags          opt[[]string]          `json:"tags"`
}

type listenerInput struct {
	listenerSettings
	Balancer string    `json:"loadbalancer_id"`
	Protocol string    `json:"protocol"`
	Port     int       `json:"protocol_port"`
	Project  string    `json:"project_id"`
	Tenant   string    `json:"tenant_id"`
	Pool     *poolSpec `json:"default_pool"`
	Policies []any     `json:"l7policies"`
}

const (
	// defaultConnections stands for no limit.
	defaultConnections = -1
	maxTimeout         = 365 * 24 * 60 * 60 * 1000 // in milliseconds
)

func (t *Tx) newListener(b *balancer, in listenerInput) *listener {
	l := &listener{base: t.newBase(b.Project), Protocol: in.Protocol, Port: in.Port, Policies: []any{},
		LoadBalancers: []ref{{b.ID}}, balancer: b}
	setDefaults(l)
	if in.Protocol == protocolTerminated {
		l.TLSVersions, l.ALPN = []string{"TLSv1.2", "TLSv1.3"}, []string{"h2", "http/1.1", "http/1.0"}
	}
	l.apply(in.listenerSettings)
	return l
}

func (l *listener) apply(in listenerSettings) {
	merge(l, &in)
	if len(l.CIDRs) == 0 {
		l.CIDRs = nil
	}
}

func (t *Tx) createListener() (any, error) {
	in, err := core.Decode[listenerInput](t.Base(), "listener")
	if err != nil {
		return nil, err
	}
	if err := in.checkTypes(); err != nil {
		return nil, err
	}
	if in.Balancer == "" {
		return nil, core.Refuse(http.StatusBadRequest, "",
			"Invalid input for field/attribute loadbalancer_id. Value: 'None'. Mandatory field missing.")
	}
	b, err := t.balancer(in.Balancer)
	if err != nil {
		return nil, err
	}
	if err := t.overQuota(core.QuotaListeners, "Listener", len(t.Listeners), 1); err != nil {
		return nil, err
	}
	if in.DefaultPool.v != "" {
		if err := t.checkDefaultPool(b, in.Protocol, in.DefaultPool.v); err != nil {
			return nil, err
		}
	}
	if err := t.checkMutable(b); err != nil {
		return nil, err
	}
	l := t.newListener(b, in)
	if err := t.checkListener(b, l); err != nil {
		return nil, err
	}
	t.Listeners[l.ID] = l
	b.listeners = append(b.listeners, l)
	t.startChange(b, pendingUpdate, []entity{l})
	return map[string]any{"listener": l}, nil
}

// checkDefaultPool checks the default pool of a listener.
func (t *Tx) checkDefaultPool(b *balancer, protocol, id string) error {
	p := t.Pools[id]
	if p == nil || p.balancer != b {
		return errMissing("Pool", id)
	}
	return checkProtocols(protocol, p.Protocol)
}

// checkProtocols returns an error unless a listener can forward to the pool.
func checkProtocols(listenerProtocol, poolProtocol string) error {
	pools := map[string][]string{
		protocolTCP:        {protocolHTTP, protocolHTTPS, protocolPROXY, protocolPROXYv2, protocolTCP},
		protocolHTTP:       {protocolHTTP, protocolPROXY, protocolPROXYv2},
		protocolHTTPS:      {protocolHTTPS, protocolPROXY, protocolPROXYv2, protocolTCP},
		protocolTerminated: {protocolHTTP, protocolPROXY, protocolPROXYv2},
		protocolUDP:        {protocolUDP},
		protocolSCTP:       {protocolSCTP},
	}
	if !slices.Contains(pools[listenerProtocol], poolProtocol) {
		return invalid("The pool protocol '%s' is invalid while the listener protocol is '%s'.", poolProtocol,
			listenerProtocol)
	}
	return nil
}

// transportOf returns the transport protocol of a listener or pool. Two listeners cannot share a port of one.
func transportOf(protocol string) string {
	switch protocol {
	case protocolUDP, protocolSCTP:
		return protocol
	}
	return protocolTCP
}

// checkListener checks a new listener against its load balancer, in the order in which Octavia does.
func (t *Tx) checkListener(b *balancer, l *listener) error {
	if err := l.validate(t); err != nil {
		return err
	}
	for _, other := range b.listeners {
		if other.Port == l.Port && transportOf(other.Protocol) == transportOf(l.Protocol) {
			return core.Refuse(http.StatusConflict, "",
				"Another Listener on this Load Balancer is already using protocol %s and protocol_port %d", other.Protocol, l.Port)
		}
	}
	return nil
}

func (l *listener) validate(t *Tx) error {
	if l.DefaultPool != nil {
		if err := t.checkDefaultPool(l.balancer, l.Protocol, *l.DefaultPool); err != nil {
			return err
		}
	}
	return cmp.Or(l.checkHeaders(), t.checkTLS(l), checkCIDRs(l.balancer, l), checkOVNListener(l.balancer, l))
}

// checkTLS validates certificates and related settings.
func (t *Tx) checkTLS(l *listener) error {
	refs := slices.Clone(l.SNI)
	if l.Certificate != nil {
		refs = append(refs, *l.Certificate)
	}
	withTLS := len(refs) > 0 || l.ClientCA != nil
	switch {
	case transportOf(l.Protocol) != protocolTCP && withTLS:
		return invalid("%s protocol listener does not support TLS.", l.Protocol)
	case l.Protocol != protocolTerminated && withTLS:
		return invalid("Certificate container references are not allowed on %s protocol listeners.", l.Protocol)
	case l.Protocol == protocolTerminated && len(refs) == 0:
		return invalid("An SNI or default certificate container reference must be provided for %s protocol listeners.",
			protocolTerminated)
	case l.ClientAuth != "NONE" && l.ClientCA == nil:
		return invalid("Client authentication setting %s requires a client CA container reference.", l.ClientAuth)
	case l.ClientCRL != nil && l.ClientCA == nil:
		return invalid("A client authentication CA reference is required to specify a client authentication revocation list.")
	}
	for _, r := range refs {
		if !t.Secrets.SecretExists(r) {
			return core.Refuse(http.StatusBadRequest, "", "Could not retrieve certificate: ['%s']", r)
		}
	}
	return nil
}

func checkCIDRs(b *balancer, l *listener) error {
	for _, cidr := range l.CIDRs {
		p, err := netip.ParsePrefix(cidr)
		if err != nil {
			return badField("allowed_cidrs", "['"+cidr+"']", "Value should be IPv4 or IPv6 CIDR format")
		}
		if !slices.Contains(b.families(), p.Addr().Is4()) {
			return invalid("CIDR %s IP version incompatible with VIP %s IP version.", cidr, b.VIP)
		}
	}
	return nil
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

// checkHeaders validates the headers that a listener inserts.
func (l *listener) checkHeaders() error {
	if len(l.Headers) == 0 {
		return nil
	}
	if l.Protocol != protocolHTTP && l.Protocol != protocolTerminated {
		return core.Refuse(http.StatusBadRequest, "", "insert-headers is not a valid option for a %s protocol listener.",
			l.Protocol)
	}
	forwarded := []string{"X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"}
	for _, name := range core.SortedKeys(l.Headers) {
		tls := strings.HasPrefix(name, "X-SSL-")
		if !slices.Contains(forwarded, name) && !tls {
			return core.Refuse(http.StatusBadRequest, "", "dict_keys(['%s']) is not a valid option for insert_headers", name)
		}
		if tls && l.Protocol != protocolTerminated {
			return core.Refuse(http.StatusBadRequest, "", "['%s'] is not a valid option for %s protocol listener.", name,
				l.Protocol)
		}
	}
	return nil
}
