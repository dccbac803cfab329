package octavia

import (
	"cmp"
	"net/http"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// refresh updates the references of a pool to related objects.
func (p *pool) refresh() {
	p.Listeners, p.Members, p.Monitor = []ref{}, []ref{}, nil
	for _, l := range p.referrers() {
		p.Listeners = append(p.Listeners, ref{l.ID})
	}
	for _, m := range p.members {
		p.Members = append(p.Members, ref{m.ID})
	}
	if p.monitor != nil {
		p.Monitor = &p.monitor.ID
	}
}

type poolSettings struct {
	Name         opt[string]      `json:"name"`
	Description  opt[string]      `json:"description"`
	AdminStateUp opt[bool]        `json:"admin_state_up"`
	Algorithm    opt[string]      `json:"lb_algorithm"`
	Persistence  opt[persistence] `json:"session_persistence"`
	TLS          opt[bool]        `json:"tls_enabled"`
	Certificate  opt[string]      `json:"tls_container_ref"`
	CA           opt[string]      `json:"ca_tls_container_ref"`
	CRL          opt[string]      `json:"crl_container_ref"`
	Ciphers      opt[string]      `json:"tls_ciphers"`
	TLSVersions  opt[[]string]    `json:"tls_versions"`
	ALPN         opt[[]string]    `json:"alpn_protocols"`
	Tags         opt[[]string]    `json:"tags"`
}

// poolSpec is a pool in a create request, by itself or with its load balancer.
type poolSpec struct {
	poolSettings
	Protocol string       `json:"protocol"`
	Balancer string       `json:"loadbalancer_id"`
	Listener string       `json:"listener_id"`
	Project  string       `json:"project_id"`
	Tenant   string       `json:"tenant_id"`
	Members  []memberSpec `json:"members"`
	Monitor  *monitorSpec `json:"healthmonitor"`
}

func algorithms() []string {
	return []string{algorithmLeastConnections, algorithmRoundRobin, algorithmSourceIP, algorithmSourceIPPort}
}

func poolProtocols() []string {
	return []string{protocolHTTP, protocolHTTPS, protocolPROXY, protocolPROXYv2, protocolSCTP, protocolTCP, protocolUDP}
}

func (in poolSettings) check() error {
	errs := []error{checkTexts(in.Name.v, in.Description.v, in.Tags.v)}
	if in.Algorithm.isSet {
		errs = append(errs, checkValue("lb_algorithm", in.Algorithm.v, algorithms()...))
	}
	if in.Persistence.isSet && !in.Persistence.null {
		errs = append(errs, checkValue("type", in.Persistence.v.Type, "APP_COOKIE", "HTTP_COOKIE", persistenceSourceIP))
	}
	return cmp.Or(errs...)
}

// checkTypes validates each value of a pool, its members and its monitor by itself. A pool that refers to another by
// name has no protocol.
func (in *poolSpec) checkTypes(named bool) error {
	errs := []error{in.check()}
	if !named || in.Protocol != "" {
		errs = append(errs, checkValue("protocol", in.Protocol, poolProtocols()...))
	}
	for i := range in.Members {
		errs = append(errs, in.Members[i].checkTypes())
	}
	if in.Monitor != nil {
		errs = append(errs, in.Monitor.checkTypes(true))
	}
	return cmp.Or(errs...)
}

func (t *Tx) newPool(b *balancer, in poolSpec) *pool {
	p := &pool{base: t.newBase(b.Project), Protocol: in.Protocol, LoadBalancers: []ref{{b.ID}}, balancer: b}
	setDefaults(p)
	p.apply(in.poolSettings)
	return p
}

func (p *pool) apply(in poolSettings) { merge(p, &in) }

func (t *Tx) createPool() (any, error) {
	in, err := core.Decode[poolSpec](t.Base(), "pool")
	if err != nil {
		return nil, err
	}
	if err := in.checkTypes(false); err != nil {
		return nil, err
	}
	if !in.Algorithm.isSet {
		return nil, badField("lb_algorithm", "None", "Mandatory field missing.")
	}
	b, l, err := t.findParents(in)
	if err != nil {
		return nil, err
	}
	if err := t.overQuota(core.QuotaPools, "Pool", len(t.Pools), 1); err != nil {
		return nil, err
	}
	p := t.newPool(b, in)
	if err := p.validate(t); err != nil {
		return nil, err
	}
	if l != nil && l.DefaultPool != nil {
		return nil, core.Refuse(http.StatusConflict, "", "This Listener already has a default pool")
	}
	if err := t.checkMutable(b); err != nil {
		return nil, err
	}
	t.Pools[p.ID] = p
	b.pools = append(b.pools, p)
	if l != nil {
		l.DefaultPool = &p.ID
	}
	if err := t.addMembersAndMonitor(p, in); err != nil {
		t.removePart(b, p)
		return nil, err
	}
	t.startChange(b, pendingUpdate, append(p.descendants(), p.affected()[1:]...))
	p.refresh()
	return map[string]any{"pool": p}, nil
}

// findParents returns the load balancer of a new pool, and the listener if the request names one.
func (t *Tx) findParents(in poolSpec) (*balancer, *listener, error) {
	if in.Listener == "" {
		if in.Balancer == "" {
			return nil, nil, invalid("Must provide at least one of: loadbalancer_id, listener_id")
		}
		b, err := t.balancer(in.Balancer)
		return b, nil, err
	}
	l, err := t.listener(in.Listener)
	if err != nil {
		return nil, nil, err
	}
	return l.balancer, l, checkProtocols(l.Protocol, in.Protocol)
}

// addMembersAndMonitor creates the members and the health monitor of a new pool.
func (t *Tx) addMembersAndMonitor(p *pool, in poolSpec) error {
	if in.Monitor != nil {
		if err := t.overQuota(core.QuotaHealthMonitors, "Health Monitor", len(t.Monitors), 1); err != nil {
			return err
		}
		if _, err := t.addMonitor(p, *in.Monitor); err != nil {
			return err
		}
	}
	if err := t.overQuota(core.QuotaMembers, "Member", t.MemberCount(), len(in.Members)); err != nil {
		return err
	}
	for i := range in.Members {
		if _, err := t.addMember(p, in.Members[i]); err != nil {
			return err
		}
	}
	return nil
}

// validate checks the settings of a pool against each other.
func (p *pool) validate(*Tx) error {
	if s := p.Persistence; s != nil {
		app, cookie := s.Type == "APP_COOKIE", core.Deref(s.Cookie) != ""
		switch {
		case cookie && !app:
			return invalid(`Field "cookie_name" can only be specified with session persistence of type "APP_COOKIE".`)
		case app && !cookie:
			return invalid(`Field "cookie_name" must be specified when using the "APP_COOKIE" session persistence type.`)
		case transportOf(p.Protocol) != protocolTCP && s.Type != persistenceSourceIP:
			return invalid("Session persistence of type %s is not supported for UDP/SCTP protocol pools.", s.Type)
		case transportOf(p.Protocol) == protocolTCP && (s.Timeout != nil || s.Granularity != nil):
			return invalid("persistence_timeout and persistence_granularity is only for UDP and SCTP protocol pools.")
		}
	}
	return checkDriverPool(p)
}
