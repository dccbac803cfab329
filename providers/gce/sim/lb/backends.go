package lb

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// Backends is a regional backend service of a passthrough load balancer.
type Backends struct {
	core.Meta

	Region              string      `json:"region,omitempty"`
	LoadBalancingScheme string      `json:"loadBalancingScheme" enum:"EXTERNAL|EXTERNAL_MANAGED|INTERNAL|INTERNAL_MANAGED|INTERNAL_SELF_MANAGED|INVALID_LOAD_BALANCING_SCHEME"`
	Protocol            string      `json:"protocol" enum:"GRPC|H2C|HTTP|HTTP2|HTTPS|SSL|TCP|UDP|UNSPECIFIED"`
	Backends            []Backend   `json:"backends,omitempty"`
	HealthChecks        []string    `json:"healthChecks,omitempty"`
	SessionAffinity     string      `json:"sessionAffinity" enum:"CLIENT_IP|CLIENT_IP_NO_DESTINATION|CLIENT_IP_PORT_PROTO|CLIENT_IP_PROTO|GENERATED_COOKIE|HEADER_FIELD|HTTP_COOKIE|NONE|STRONG_COOKIE_AFFINITY"`
	TimeoutSec          int         `json:"timeoutSec"`
	Port                int         `json:"port,omitempty"`
	PortName            string      `json:"portName,omitempty"`
	Network             string      `json:"network,omitempty"`
	ConnectionDraining  *Draining   `json:"connectionDraining,omitempty"`
	LogConfig           *BackendLog `json:"logConfig,omitempty"`
	FailoverPolicy      *Failover   `json:"failoverPolicy,omitempty"`
	Tracking            *Tracking   `json:"connectionTrackingPolicy,omitempty"`
	Subsetting          *Subsetting `json:"subsetting,omitempty"`
	EnableCDN           bool        `json:"enableCDN,omitempty"`
	UsedBy              []UsedBy    `json:"usedBy,omitempty"`
	Fingerprint         string      `json:"fingerprint"`
}

// Backend is an instance group of a backend service.
type Backend struct {
	Group          string   `json:"group"`
	BalancingMode  string   `json:"balancingMode" enum:"CONNECTION|CUSTOM_METRICS|IN_FLIGHT|RATE|UTILIZATION"`
	Description    string   `json:"description,omitempty"`
	Failover       bool     `json:"failover,omitempty"`
	CapacityScaler *float64 `json:"capacityScaler,omitempty"`
}

// Draining is the time that connections to a leaving backend have.
type Draining struct {
	TimeoutSec int `json:"drainingTimeoutSec"`
}

// BackendLog is whether connections are logged.
type BackendLog struct {
	Enable     bool     `json:"enable"`
	SampleRate *float64 `json:"sampleRate,omitempty"`
}

// Failover is when backends of the second rank are used.
type Failover struct {
	DisableDrain  bool    `json:"disableConnectionDrainOnFailover,omitempty"`
	DropTraffic   bool    `json:"dropTrafficIfUnhealthy,omitempty"`
	FailoverRatio float64 `json:"failoverRatio,omitempty"`
}

// Tracking is how connections stay with their backend.
type Tracking struct {
	Persistence    string `json:"connectionPersistenceOnUnhealthyBackends,omitempty" enum:"ALWAYS_PERSIST|DEFAULT_FOR_PROTOCOL|NEVER_PERSIST"`
	StrongAffinity bool   `json:"enableStrongAffinity,omitempty"`
	IdleTimeoutSec int    `json:"idleTimeoutSec,omitempty"`
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

// References implements core.Entity.
func (b *Backends) References() []string {
	out := slices.Clone(b.HealthChecks)
	for _, backend := range b.Backends {
		out = append(out, backend.Group)
	}
	if b.Network != "" {
		out = append(out, b.Network)
	}
	return out
}

var (
	regionalBackends = core.Collection[*State, *Backends]{Service: "regionBackendServices", Name: "backendServices",
		Kind: "backendService", Scope: "regions", New: func() *Backends { return &Backends{} }, Patch: true, Update: true,
		Quota: core.QuotaBackendServices, ListKindAggregated: "-", Insert: (*State).insertBackends,
		Change: (*State).changeBackends, Show: showBackends}
	// globalBackends are never created: those of other products are not simulated.
	globalBackends = core.Collection[*State, *Backends]{Service: "backendServices", Name: "backendServices",
		Kind: "backendService", Scope: core.ScopeGlobal, New: func() *Backends { return &Backends{} }, Show: showBackends}
)

func backendMethods() []core.Method[*State] {
	return append(globalBackends.Methods(), regionalBackends.Methods(
		core.Method[*State]{ID: "getHealth", Permission: "get", Do: backendHealth})...)
}

// showBackends adds the forwarding rules that use a backend service.
func showBackends(s *State, b *Backends) *Backends {
	view := *b
	view.UsedBy = nil
	for _, r := range s.rules() {
		if r.BackendService == b.SelfLink {
			view.UsedBy = append(view.UsedBy, UsedBy{r.SelfLink})
		}
	}
	return &view
}

func (s *State) insertBackends(k *core.Call, b *Backends) error {
	b.Region = regionURL(k)
	b.LoadBalancingScheme = cmp.Or(b.LoadBalancingScheme, schemeExternal)
	if err := s.checkBackends(k, b); err != nil {
		return err
	}
	b.setFingerprint()
	return nil
}

func (b *Backends) setFingerprint() {
	b.Fingerprint, b.UsedBy = "", nil
	b.Fingerprint = core.Fingerprint(b)
}

func (s *State) changeBackends(k *core.Call, old, b *Backends) error {
	// The reference of the field says that an up-to-date fingerprint must be provided.
	if !k.Has("fingerprint") || b.Fingerprint != old.Fingerprint {
		return core.ErrFingerprint()
	}
	b.Region, b.LoadBalancingScheme = old.Region, cmp.Or(b.LoadBalancingScheme, old.LoadBalancingScheme)
	if b.LoadBalancingScheme != old.LoadBalancingScheme {
		return core.Invalid("resource.loadBalancingScheme", b.LoadBalancingScheme,
			"The scheme of a backend service cannot be changed.")
	}
	if err := s.checkBackends(k, b); err != nil {
		return err
	}
	for _, r := range s.rules() {
		if r.BackendService == old.SelfLink && !protocolsMatch(r.IPProtocol, b.Protocol) {
			return core.Invalid("resource.protocol", b.Protocol, "Forwarding rule '%s' has protocol %s.", r.Ref(),
				r.IPProtocol)
		}
	}
	b.setFingerprint()
	return nil
}

// checkBackends checks a backend service and sets defaults.
func (s *State) checkBackends(k *core.Call, b *Backends) error {
	b.SessionAffinity, b.TimeoutSec = cmp.Or(b.SessionAffinity, "NONE"), cmp.Or(b.TimeoutSec, 30)
	b.Protocol = cmp.Or(b.Protocol, protocolTCP)
	if b.ConnectionDraining == nil {
		b.ConnectionDraining = &Draining{}
	}
	affinities := []string{"NONE", "CLIENT_IP", "CLIENT_IP_PROTO", "CLIENT_IP_PORT_PROTO", "CLIENT_IP_NO_DESTINATION"}
	switch {
	case b.LoadBalancingScheme != schemeInternal && b.LoadBalancingScheme != schemeExternal:
		return core.Invalid("resource.loadBalancingScheme", b.LoadBalancingScheme,
			"Only backend services of passthrough load balancers are simulated: INTERNAL and EXTERNAL.")
	case !slices.Contains([]string{protocolTCP, "UDP", "UNSPECIFIED"}, b.Protocol):
		return core.Invalid("resource.protocol", b.Protocol, "Must be TCP, UDP or UNSPECIFIED for the scheme.")
	case !slices.Contains(affinities, b.SessionAffinity):
		return core.Invalid("resource.sessionAffinity", b.SessionAffinity, "Must be one of %v for the scheme.", affinities)
	case b.PortName != "":
		return core.Invalid("resource.portName", b.PortName, "Passthrough load balancers have no port name.")
	case len(b.HealthChecks) > 1:
		return core.Invalid("resource.healthChecks", strconv.Itoa(len(b.HealthChecks)),
			"At most one health check can be specified.")
	case len(b.HealthChecks) == 0 && len(b.Backends) > 0:
		return core.Required("resource.healthChecks")
	case b.ConnectionDraining.TimeoutSec < 0 || b.ConnectionDraining.TimeoutSec > 3600:
		return core.Invalid("resource.connectionDraining.drainingTimeoutSec",
			strconv.Itoa(b.ConnectionDraining.TimeoutSec), "Must be between 0 and 3600.")
	}
	return s.resolveBackends(k, b)
}

// resolveBackends resolves the references of a backend service.
func (s *State) resolveBackends(k *core.Call, b *Backends) error {
	if b.Network != "" {
		n, err := s.UseNetwork(k, "resource.network", b.Network)
		if err != nil {
			return err
		}
		b.Network = n.SelfLink
	}
	for n, url := range b.HealthChecks {
		c, err := s.useCheck(k, url)
		if err != nil {
			return err
		}
		b.HealthChecks[n] = c.SelfLink
	}
	return s.checkGroups(k, b)
}

// useCheck resolves the reference to a health check, global or of the region.
func (s *State) useCheck(k *core.Call, url string) (*Check, error) {
	const field = "resource.healthChecks"
	r, err := core.ResolveURL(field, url, "healthChecks", k.Target)
	if err != nil {
		return nil, err
	}
	if r.Scope != core.ScopeGlobal && r.Scope != k.Scope() {
		return nil, core.Invalid(field, url, "The health check must be global or in the region of the backend service.")
	}
	permission := "healthChecks.useReadOnly"
	if r.Scope != core.ScopeGlobal {
		permission = "regionHealthChecks.useReadOnly"
	}
	if err := k.Permit(permission, r); err != nil {
		return nil, err
	}
	return core.Use[*Check](s.Core(), r)
}

// checkGroups checks the instance groups of a backend service. Their network is that of their instances.
func (s *State) checkGroups(k *core.Call, b *Backends) error {
	const field = "resource.backends.group"
	seen, network := map[string]bool{}, b.Network
	for n := range b.Backends {
		backend := &b.Backends[n]
		if !strings.HasPrefix(backend.Group, "https://") && !strings.HasPrefix(backend.Group, "http://") {
			return core.Invalid(field, backend.Group, "Must be a fully-qualified URL. Partial URLs are not supported.")
		}
		g, err := s.UseGroup(k, field, backend.Group)
		if err != nil {
			return err
		}
		backend.Group, backend.BalancingMode = g.SelfLink, cmp.Or(backend.BalancingMode, "CONNECTION")
		switch {
		case g.Ref().Region() != k.Params["region"]:
			return core.Invalid(field, backend.Group, "The instance group must be in the region of the backend service.")
		case seen[g.SelfLink]:
			return core.Invalid(field, backend.Group, "The instance group is named twice.")
		case backend.BalancingMode != "CONNECTION":
			return core.Invalid("resource.backends.balancingMode", backend.BalancingMode,
				"Must be CONNECTION for passthrough load balancers.")
		case network != "" && g.Network != "" && g.Network != network:
			return core.Invalid(field, backend.Group, "All instance groups must be in the same network.")
		}
		seen[g.SelfLink], network = true, cmp.Or(network, g.Network)
	}
	return nil
}
