package lb

import (
	"cmp"
	"strconv"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// Timing of all kinds of health checks, with the ranges of the page "Health checks overview".
type Timing struct {
	CheckIntervalSec   int `json:"checkIntervalSec" default:"5" range:"1-300"`
	TimeoutSec         int `json:"timeoutSec" default:"5" range:"1-300"`
	HealthyThreshold   int `json:"healthyThreshold" default:"2" range:"1-10"`
	UnhealthyThreshold int `json:"unhealthyThreshold" default:"2" range:"1-10"`
}

// LegacyCheck is a legacy HTTP health check, for target pools.
type LegacyCheck struct {
	core.Meta
	Timing

	Host        string `json:"host"`
	Port        int    `json:"port" default:"80" range:"1-65535"`
	RequestPath string `json:"requestPath" default:"/" format:"path without query"`
}

// Check is a health check for backend services.
type Check struct {
	core.Meta
	Timing

	Type      string    `json:"type" enum:"GRPC|GRPC_WITH_TLS|HTTP|HTTP2|HTTPS|INVALID|SSL|TCP" set:"once" simulated:"HTTP|HTTPS|HTTP2|TCP|SSL"`
	HTTP      *HTTPPart `json:"httpHealthCheck,omitempty"`
	HTTPS     *HTTPPart `json:"httpsHealthCheck,omitempty"`
	HTTP2     *HTTPPart `json:"http2HealthCheck,omitempty"`
	TCP       *TCPPart  `json:"tcpHealthCheck,omitempty"`
	SSL       *TCPPart  `json:"sslHealthCheck,omitempty"`
	LogConfig *CheckLog `json:"logConfig,omitempty" default:"{}"`
	Region    string    `json:"region,omitempty" set:"output"`
}

// Target is the port that is checked.
type Target struct {
	Port          int    `json:"port,omitempty" range:"1-65535"`
	PortName      string `json:"portName,omitempty" set:"never"`
	Specification string `json:"portSpecification,omitempty" enum:"USE_FIXED_PORT|USE_NAMED_PORT|USE_SERVING_PORT" simulated:"USE_FIXED_PORT"`
	ProxyHeader   string `json:"proxyHeader" enum:"NONE|PROXY_V1" default:"NONE"`
	Response      string `json:"response,omitempty"`
}

// HTTPPart is what an HTTP health check requests.
type HTTPPart struct {
	Target

	Host        string `json:"host,omitempty"`
	RequestPath string `json:"requestPath" default:"/" format:"path"`
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

func (t *Timing) check() error {
	if t.TimeoutSec > t.CheckIntervalSec {
		return core.Invalid("resource.timeoutSec", strconv.Itoa(t.TimeoutSec),
			"TimeoutSec should be less than or equal to checkIntervalSec.")
	}
	return nil
}

// check checks that exactly the part of the type is set, and sets its default port.
func (c *Check) check() error {
	if c.Type == "" {
		return core.Required("resource.type")
	}
	set := map[string]bool{"HTTP": c.HTTP != nil, "HTTPS": c.HTTPS != nil, "HTTP2": c.HTTP2 != nil, "TCP": c.TCP != nil,
		"SSL": c.SSL != nil}
	for kind, isSet := range set {
		if isSet != (kind == c.Type) {
			return core.Invalid("resource.type", c.Type,
				"Exactly one protocol-specific health check must be specified, which must match the type.")
		}
	}
	defaults := map[string]int{"HTTP": 80, "HTTPS": 443, "HTTP2": 443, "TCP": 80, "SSL": 443}
	c.target().Port = cmp.Or(c.target().Port, defaults[c.Type])
	return c.Timing.check()
}

// target returns the target in the part of the type.
func (c *Check) target() *Target {
	for _, part := range []*HTTPPart{c.HTTP, c.HTTPS, c.HTTP2} {
		if part != nil {
			return &part.Target
		}
	}
	return &cmp.Or(c.TCP, c.SSL).Target
}
