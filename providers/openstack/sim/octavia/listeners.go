package octavia

import (
	"cmp"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

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

// checkTypes validates each value of a listener by itself, which Octavia does first.
func (in *listenerInput) checkTypes() error {
	return cmp.Or(
		checkValue("protocol", in.Protocol, listenerProtocols()...),
		checkBounds("protocol_port", in.Port, 1, 65535),
		in.check(),
	)
}

func (in listenerSettings) check() error {
	return cmp.Or(
		checkTexts(in.Name.v, in.Description.v, in.Tags.v),
		checkBounds("connection_limit", in.Connections.or(defaultConnections), defaultConnections, 1<<31-1),
		checkBounds("timeout_client_data", in.ClientData.v, 0, maxTimeout),
		checkBounds("timeout_member_connect", in.MemberConnect.v, 0, maxTimeout),
		checkBounds("timeout_member_data", in.MemberData.v, 0, maxTimeout),
		checkBounds("timeout_tcp_inspect", in.Inspect.v, 0, maxTimeout),
	)
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
