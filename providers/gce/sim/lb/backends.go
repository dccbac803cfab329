package lb

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
)

// Backends is a regional backend service of a passthrough load balancer.
type Backends struct {
	core.Meta

	Region              string      `json:"region,omitempty" set:"output"`
	LoadBalancingScheme string      `json:"loadBalancingScheme" enum:"EXTERNAL|EXTERNAL_MANAGED|INTERNAL|INTERNAL_MANAGED|INTERNAL_SELF_MANAGED|INVALID_LOAD_BALANCING_SCHEME" default:"EXTERNAL" simulated:"INTERNAL|EXTERNAL" set:"once"`
	Protocol            string      `json:"protocol" enum:"GRPC|H2C|HTTP|HTTP2|HTTPS|SSL|TCP|UDP|UNSPECIFIED" default:"TCP" simulated:"TCP|UDP|UNSPECIFIED"`
	Backends            []Backend   `json:"backends,omitempty"`
	HealthChecks        []string    `json:"healthChecks,omitempty" link:"healthChecks.useReadOnly" most:"1"`
	SessionAffinity     string      `json:"sessionAffinity" enum:"CLIENT_IP|CLIENT_IP_NO_DESTINATION|CLIENT_IP_PORT_PROTO|CLIENT_IP_PROTO|GENERATED_COOKIE|HEADER_FIELD|HTTP_COOKIE|NONE|STRONG_COOKIE_AFFINITY" default:"NONE" simulated:"NONE|CLIENT_IP|CLIENT_IP_PROTO|CLIENT_IP_PORT_PROTO|CLIENT_IP_NO_DESTINATION"`
	TimeoutSec          int         `json:"timeoutSec" default:"30" range:"1-2147483647"`
	Port                int         `json:"port,omitempty" set:"never"`
	PortName            string      `json:"portName,omitempty" set:"never"`
	Network             string      `json:"network,omitempty" link:"networks"`
	ConnectionDraining  *Draining   `json:"connectionDraining,omitempty" default:"{}"`
	LogConfig           *BackendLog `json:"logConfig,omitempty"`
	FailoverPolicy      *Failover   `json:"failoverPolicy,omitempty"`
	Tracking            *Tracking   `json:"connectionTrackingPolicy,omitempty"`
	Subsetting          *Subsetting `json:"subsetting,omitempty"`
	EnableCDN           bool        `json:"enableCDN,omitempty" set:"never"`
	UsedBy              []UsedBy    `json:"usedBy,omitempty" set:"output"`
	Fingerprint         string      `json:"fingerprint" set:"output"`
}

// Backend is an instance group of a backend service.
type Backend struct {
	Group          string   `json:"group" set:"required" format:"url" link:"instanceGroups.use"`
	BalancingMode  string   `json:"balancingMode" enum:"CONNECTION|CUSTOM_METRICS|IN_FLIGHT|RATE|UTILIZATION" default:"CONNECTION" simulated:"CONNECTION"`
	Description    string   `json:"description,omitempty"`
	Failover       bool     `json:"failover,omitempty"`
	CapacityScaler *float64 `json:"capacityScaler,omitempty"`
}

// Draining is the time that connections to a leaving backend have.
type Draining struct {
	TimeoutSec int `json:"drainingTimeoutSec" range:"0-3600"`
}

// BackendLog is whether connections are logged.
type BackendLog struct {
	Enable     bool     `json:"enable"`
	SampleRate *float64 `json:"sampleRate,omitempty" range:"0-1"`
}

// Failover is when backends of the second rank are used.
type Failover struct {
	DisableDrain  bool    `json:"disableConnectionDrainOnFailover,omitempty"`
	DropTraffic   bool    `json:"dropTrafficIfUnhealthy,omitempty"`
	FailoverRatio float64 `json:"failoverRatio,omitempty" range:"0-1"`
}

// Tracking is how connections stay with their backend.
type Tracking struct {
	Persistence    string `json:"connectionPersistenceOnUnhealthyBackends,omitempty" enum:"ALWAYS_PERSIST|DEFAULT_FOR_PROTOCOL|NEVER_PERSIST"`
	StrongAffinity bool   `json:"enableStrongAffinity,omitempty"`
	IdleTimeoutSec int    `json:"idleTimeoutSec,omitempty" range:"600-57600"`
	Mode           string `json:"trackingMode,omitempty" enum:"INVALID_TRACKING_MODE|PER_CONNECTION|PER_SESSION"`
}

// Subsetting is whether each node gets a part of the traffic.
type Subsetting struct {
	Policy string `json:"policy" enum:"CONSISTENT_HASH_SUBSETTING|NONE"`
}

// UsedBy names a forwarding rule.
type UsedBy struct {
	Reference string `json:"reference"`
}

// groups returns the instance groups of a backend service.
func (s *State) groups(b *Backends) []*vm.Group {
	var urls []string
	for _, backend := range b.Backends {
		urls = append(urls, backend.Group)
	}
	return core.AllAt[*vm.Group](s.Core(), urls)
}

// checkBackends checks what depends on several fields of a backend service.
func (s *State) checkBackends(b *Backends) error {
	switch {
	case len(b.HealthChecks) == 0 && len(b.Backends) > 0:
		return core.Required("resource.healthChecks")
	case b.Network != "" && b.LoadBalancingScheme != schemeInternal:
		return core.Invalid("resource.network", b.Network, "Requires the scheme INTERNAL.")
	case b.LogConfig != nil && b.LogConfig.SampleRate != nil && !b.LogConfig.Enable:
		return core.Invalid("resource.logConfig.sampleRate", "", "Requires that logging is enabled.")
	}
	return s.checkGroups(b)
}

// checkGroups checks the instance groups of a backend service. Their network is that of their instances.
func (s *State) checkGroups(b *Backends) error {
	const field = "resource.backends.group"
	list, network := s.groups(b), b.Network
	for n, g := range list {
		if network == "" {
			network = g.Network
		}
		switch {
		case slices.Contains(list[:n], g):
			return core.Invalid(field, g.SelfLink, "The instance group is named twice.")
		case g.Network != "" && g.Network != network:
			return core.Invalid(field, g.SelfLink, "All instance groups must be in the same network.")
		}
		if err := s.CheckBalanced(g); err != nil {
			return err
		}
	}
	return nil
}
