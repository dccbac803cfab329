package octavia

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

func (t *Tx) monitor(id string) (*monitor, error) {
	return lookup(t, t.Monitors, "Health Monitor", id)
}

type monitorSettings struct {
	Name         opt[string]   `json:"name"`
	AdminStateUp opt[bool]     `json:"admin_state_up"`
	Delay        opt[int]      `json:"delay"`
	Timeout      opt[int]      `json:"timeout"`
	Retries      opt[int]      `json:"max_retries"`
	Down         opt[int]      `json:"max_retries_down"`
	Method       opt[string]   `json:"http_method"`
	Path         opt[string]   `json:"url_path"`
	Codes        opt[string]   `json:"expected_codes"`
	Version      opt[float64]  `json:"http_version"`
	Domain       opt[string]   `json:"domain_name"`
	Tags         opt[[]string] `json:"tags"`
}

type monitorSpec struct {
	monitorSettings
	Type    string `json:"type"`
	Pool    string `json:"pool_id"`
	Project string `json:"project_id"`
	Tenant  string `json:"tenant_id"`
}

func (in monitorSettings) check() error {
	var errs []error
	checkUpTo := func(field string, o opt[int], upper int) {
		if o.isSet && !o.null {
			errs = append(errs, checkBounds(field, o.v, 1, upper))
		}
	}
	checkUpTo("delay", in.Delay, 1<<31-1)
	checkUpTo("timeout", in.Timeout, 1<<31-1)
	checkUpTo("max_retries", in.Retries, 10)
	checkUpTo("max_retries_down", in.Down, 10)
	if in.Method.v != "" {
		errs = append(errs, checkValue("http_method", in.Method.v, "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH",
			"POST", "PUT", "TRACE"))
	}
	if in.Path.v != "" && !strings.HasPrefix(in.Path.v, "/") {
		errs = append(errs, badField("url_path", in.Path.v, "Value must be a valid URL Path string"))
	}
	return cmp.Or(append(errs, checkTexts(in.Name.v, "", in.Tags.v))...)
}

// checkTypes validates each value of a new monitor by itself. A monitor inside a pool has no pool ID.
func (in *monitorSpec) checkTypes(inPool bool) error {
	if err := checkValue("type", in.Type, monitorHTTP, protocolHTTPS, monitorPing, monitorSCTP, monitorTCP, "TLS-HELLO",
		monitorUDP); err != nil {
		return err
	}
	for field, o := range map[string]opt[int]{"delay": in.Delay, "timeout": in.Timeout, "max_retries": in.Retries} {
		if !o.isSet || o.null {
			return badField(field, "None", "Mandatory field missing.")
		}
	}
	if !inPool && in.Pool == "" {
		return badField("pool_id", "None", "Mandatory field missing.")
	}
	return in.check()
}

func (m *monitor) apply(in monitorSettings) {
	merge(m, &in)
	if m.isHTTP() {
		for field, value := range map[**string]string{&m.Method: http.MethodGet, &m.Path: "/", &m.Codes: "200"} {
			if *field == nil {
				*field = &value
			}
		}
	}
}

func (m *monitor) isHTTP() bool { return m.Type == monitorHTTP || m.Type == protocolHTTPS }

// addMonitor adds a health monitor to a pool.
func (t *Tx) addMonitor(p *pool, in monitorSpec) (*monitor, error) {
	if p.monitor != nil {
		return nil, core.Refuse(http.StatusConflict, "", "This pool already has a health monitor")
	}
	m := &monitor{base: t.newBase(p.Project), Type: in.Type, PoolRefs: []ref{{p.ID}}, pool: p}
	setDefaults(m)
	m.apply(in.monitorSettings)
	if err := m.validate(t); err != nil {
		return nil, err
	}
	p.monitor, t.Monitors[m.ID] = m, m
	return m, nil
}

// validate checks the settings against each other. Like Octavia it accepts a timeout above the delay.
func (m *monitor) validate(t *Tx) error {
	if err := m.checkType(t); err != nil {
		return err
	}
	switch {
	case !m.isHTTP() && (m.Method != nil || m.Path != nil || m.Codes != nil):
		return invalid("http_method, url_path and expected_codes are only valid for HTTP and HTTPS monitors.")
	case m.Domain != nil && (m.Version == nil || *m.Version < 1.1):
		return invalid("'http_version' must be greater than 1.0 when 'domain_name' is used")
	}
	return checkOVNMonitor(m)
}

// checkType checks the type against the protocol of the pool.
func (m *monitor) checkType(t *Tx) error {
	datagrams := transportOf(m.pool.Protocol) != protocolTCP
	switch {
	case datagrams && t.Options.Octavia() < octaviaUDPMonitors && m.Type != monitorUDP:
		return invalid("The associated pool protocol is UDP, so only a UDP-CONNECT health monitor is supported.")
	case datagrams && !slices.Contains([]string{monitorUDP, monitorHTTP, monitorTCP, monitorSCTP}, m.Type):
		return invalid("The associated pool protocol is %s, so only a HTTP, SCTP, TCP, UDP-CONNECT health monitor is "+
			"supported.", m.pool.Protocol)
	case !datagrams && (m.Type == monitorUDP || m.Type == monitorSCTP):
		return invalid("The %s type is only supported for pools of type UDP/SCTP.", m.Type)
	}
	return nil
}

func (t *Tx) createMonitor() (any, error) {
	in, err := core.Decode[monitorSpec](t.Base(), "healthmonitor")
	if err != nil {
		return nil, err
	}
	if err := in.checkTypes(false); err != nil {
		return nil, err
	}
	p, err := t.pool(in.Pool)
	if err != nil {
		return nil, err
	}
	if err := t.overQuota(core.QuotaHealthMonitors, "Health Monitor", len(t.Monitors), 1); err != nil {
		return nil, err
	}
	if err := t.checkMutable(p.balancer, p); err != nil {
		return nil, err
	}
	m, err := t.addMonitor(p, in)
	if err != nil {
		return nil, err
	}
	t.startChange(p.balancer, pendingUpdate, m.affected())
	return map[string]any{"healthmonitor": m}, nil
}
