package lb

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// Timing of all kinds of health checks.
type Timing struct {
	CheckIntervalSec   int `json:"checkIntervalSec"`
	TimeoutSec         int `json:"timeoutSec"`
	HealthyThreshold   int `json:"healthyThreshold"`
	UnhealthyThreshold int `json:"unhealthyThreshold"`
}

// LegacyCheck is a legacy HTTP health check, for target pools.
type LegacyCheck struct {
	core.Meta
	Timing

	Host        string `json:"host"`
	Port        int    `json:"port"`
	RequestPath string `json:"requestPath"`
}

// Check is a health check for backend services.
type Check struct {
	core.Meta
	Timing

	Type      string    `json:"type" enum:"GRPC|GRPC_WITH_TLS|HTTP|HTTP2|HTTPS|INVALID|SSL|TCP"`
	HTTP      *HTTPPart `json:"httpHealthCheck,omitempty"`
	HTTPS     *HTTPPart `json:"httpsHealthCheck,omitempty"`
	HTTP2     *HTTPPart `json:"http2HealthCheck,omitempty"`
	TCP       *TCPPart  `json:"tcpHealthCheck,omitempty"`
	SSL       *TCPPart  `json:"sslHealthCheck,omitempty"`
	LogConfig *CheckLog `json:"logConfig,omitempty"`
	Region    string    `json:"region,omitempty"`
}

// Target is the port that is checked.
type Target struct {
	Port          int    `json:"port,omitempty"`
	PortName      string `json:"portName,omitempty"`
	Specification string `json:"portSpecification,omitempty" enum:"USE_FIXED_PORT|USE_NAMED_PORT|USE_SERVING_PORT"`
	ProxyHeader   string `json:"proxyHeader" enum:"NONE|PROXY_V1"`
	Response      string `json:"response,omitempty"`
}

// HTTPPart is what an HTTP health check requests.
type HTTPPart struct {
	Target

	Host        string `json:"host,omitempty"`
	RequestPath string `json:"requestPath"`
}

// TCPPart is what a TCP health check sends.
type TCPPart struct {
	Target

	Request string `json:"request,omitempty"`
}

// CheckLog is whether changes of health are logged.
type CheckLog struct {
	Enable bool `json:"enable"`
}

var (
	legacyChecks = core.Collection[*State, *LegacyCheck]{Service: "httpHealthChecks", Name: "httpHealthChecks",
		Kind: "httpHealthCheck", Scope: core.ScopeGlobal, New: func() *LegacyCheck { return &LegacyCheck{} },
		Quota: core.QuotaHealthChecks, Patch: true, Update: true, ListKindAggregated: "-",
		Insert: func(_ *State, _ *core.Call, c *LegacyCheck) error { return c.check() },
		Change: func(_ *State, _ *core.Call, _, c *LegacyCheck) error { return c.check() }}
	globalChecks = core.Collection[*State, *Check]{Service: "healthChecks", Name: "healthChecks", Kind: "healthCheck",
		Scope: core.ScopeGlobal, New: func() *Check { return &Check{} }, Quota: core.QuotaHealthChecks, Patch: true,
		Update: true, ListKindAggregated: "healthChecksAggregatedList", Insert: insertCheck, Change: changeCheck}
	regionalChecks = core.Collection[*State, *Check]{Service: "regionHealthChecks", Name: "healthChecks",
		Kind: "healthCheck", Scope: "regions", New: func() *Check { return &Check{} }, Quota: core.QuotaHealthChecks,
		Patch: true, Update: true, ListKindAggregated: "-", Insert: insertCheck, Change: changeCheck}
)

func checkMethods() []core.Method[*State] {
	return slices.Concat(legacyChecks.Methods(), globalChecks.Methods(), regionalChecks.Methods())
}

// Limits of the page "Health checks overview".
const (
	maxInterval  = 300
	maxThreshold = 10
)

// check sets defaults and checks the ranges of the page "Health checks overview".
func (t *Timing) check() error {
	t.CheckIntervalSec, t.TimeoutSec = cmp.Or(t.CheckIntervalSec, 5), cmp.Or(t.TimeoutSec, 5)
	t.HealthyThreshold, t.UnhealthyThreshold = cmp.Or(t.HealthyThreshold, 2), cmp.Or(t.UnhealthyThreshold, 2)
	for _, f := range []struct {
		name       string
		value, max int
	}{
		{"checkIntervalSec", t.CheckIntervalSec, maxInterval}, {"timeoutSec", t.TimeoutSec, maxInterval},
		{"healthyThreshold", t.HealthyThreshold, maxThreshold}, {"unhealthyThreshold", t.UnhealthyThreshold, maxThreshold},
	} {
		if f.value < 1 || f.value > f.max {
			return core.Invalid("resource."+f.name, strconv.Itoa(f.value), "Must be between 1 and %d.", f.max)
		}
	}
	if t.TimeoutSec > t.CheckIntervalSec {
		return core.Invalid("resource.timeoutSec", strconv.Itoa(t.TimeoutSec),
			"TimeoutSec should be less than or equal to checkIntervalSec.")
	}
	return nil
}

func checkPort(field string, port int) error {
	if port < 1 || port > 65535 {
		return core.Invalid(field, strconv.Itoa(port), "Must be between 1 and 65535.")
	}
	return nil
}

func checkPath(field, path string) error {
	if path[0] != '/' {
		return core.Invalid(field, path, "Must start with a slash.")
	}
	return nil
}

func (c *LegacyCheck) check() error {
	c.Port, c.RequestPath = cmp.Or(c.Port, 80), cmp.Or(c.RequestPath, "/")
	if err := checkPort("resource.port", c.Port); err != nil {
		return err
	}
	if err := checkPath("resource.requestPath", c.RequestPath); err != nil {
		return err
	}
	return c.Timing.check()
}

func insertCheck(_ *State, k *core.Call, c *Check) error {
	c.Region = regionURL(k)
	return c.check()
}

func changeCheck(_ *State, _ *core.Call, old, c *Check) error {
	c.Type = cmp.Or(c.Type, old.Type)
	if c.Type != old.Type {
		return core.Invalid("resource.type", c.Type, "The type of a health check cannot be changed.")
	}
	c.Region = old.Region
	return c.check()
}

// check checks that exactly the part of the type is set, and sets its defaults.
func (c *Check) check() error {
	if c.Type == "" {
		return core.Required("resource.type")
	}
	set := map[string]bool{"HTTP": c.HTTP != nil, "HTTPS": c.HTTPS != nil, "HTTP2": c.HTTP2 != nil, "TCP": c.TCP != nil,
		"SSL": c.SSL != nil}
	if _, ok := set[c.Type]; !ok {
		return core.Invalid("resource.type", c.Type, "Only HTTP, HTTPS, HTTP2, TCP and SSL are simulated.")
	}
	for kind, isSet := range set {
		if isSet != (kind == c.Type) {
			return core.Invalid("resource.type", c.Type,
				"Exactly one protocol-specific health check must be specified, which must match the type.")
		}
	}
	for _, part := range []*HTTPPart{c.HTTP, c.HTTPS, c.HTTP2} {
		if part == nil {
			continue
		}
		part.RequestPath = cmp.Or(part.RequestPath, "/")
		if err := checkPath("resource.httpHealthCheck.requestPath", part.RequestPath); err != nil {
			return err
		}
	}
	if err := c.target().check(c.Type); err != nil {
		return err
	}
	if c.LogConfig == nil {
		c.LogConfig = &CheckLog{}
	}
	return c.Timing.check()
}

// target returns the target in the part of the type.
func (c *Check) target() *Target {
	switch {
	case c.HTTP != nil:
		return &c.HTTP.Target
	case c.HTTPS != nil:
		return &c.HTTPS.Target
	case c.HTTP2 != nil:
		return &c.HTTP2.Target
	case c.TCP != nil:
		return &c.TCP.Target
	}
	return &c.SSL.Target
}

// check sets the defaults of the ports: 80, or 443 for the protocols with TLS.
func (t *Target) check(kind string) error {
	t.ProxyHeader = cmp.Or(t.ProxyHeader, "NONE")
	if t.Specification != "" && t.Specification != "USE_FIXED_PORT" {
		return nil
	}
	if t.Port == 0 && t.PortName == "" {
		t.Port = 80
		if kind == "HTTPS" || kind == "HTTP2" || kind == "SSL" {
			t.Port = 443
		}
	}
	if t.PortName != "" {
		return nil
	}
	return checkPort("resource.port", t.Port)
}
