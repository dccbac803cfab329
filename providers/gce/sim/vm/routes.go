package vm

import (
	"cmp"
	"net/netip"
	"strconv"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

// Route is a route of a network.
type Route struct {
	core.Meta

	Network         string    `json:"network"`
	DestRange       string    `json:"destRange"`
	Priority        *int      `json:"priority"`
	Tags            []string  `json:"tags,omitempty"`
	NextHopInstance string    `json:"nextHopInstance,omitempty"`
	NextHopIP       string    `json:"nextHopIp,omitempty"`
	NextHopGateway  string    `json:"nextHopGateway,omitempty"`
	RouteType       string    `json:"routeType,omitempty" enum:"BGP|STATIC|SUBNET|TRANSIT"`
	RouteStatus     string    `json:"routeStatus,omitempty" enum:"ACTIVE|DROPPED|INACTIVE|PENDING"`
	Warnings        []Warning `json:"warnings,omitempty"`
}

// Warning reports a problem.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// References implements core.Entity.
func (r *Route) References() []string { return []string{r.Network} }

var routes = core.Collection[*State, *Route]{Service: "routes", Name: "routes", Kind: "route", Scope: core.ScopeGlobal,
	New: func() *Route { return &Route{} }, Quota: core.QuotaRoutes, Insert: (*State).insertRoute, Show: showRoute,
	Removed:            func(s *State, r *Route) { delete(s.Foreign, r.Ref().String()) },
	ListKindAggregated: "-"}

func routeMethods() []core.Method[*State] { return routes.Methods() }

func (s *State) insertRoute(k *core.Call, r *Route) error {
	r.RouteType, r.RouteStatus, r.Warnings = "STATIC", "", nil
	if r.Network == "" {
		return core.Required("resource.network")
	}
	n, err := s.UseNetwork(k, "resource.network", r.Network)
	if err != nil {
		return err
	}
	if err := k.Permit("networks.updatePolicy", n.Ref()); err != nil {
		return err
	}
	r.Network = n.SelfLink
	if r.Priority == nil {
		r.Priority = new(1000)
	}
	if *r.Priority < 0 || *r.Priority > 65535 {
		return core.Invalid("resource.priority", strconv.Itoa(*r.Priority), "Must be between 0 and 65535.")
	}
	p, err := netip.ParsePrefix(r.DestRange)
	if r.DestRange == "" {
		return core.Required("resource.destRange")
	}
	if err != nil || p != p.Masked() {
		return core.Invalid("resource.destRange", r.DestRange, "Must be a CIDR block.")
	}
	if err := s.checkDestination(n, p); err != nil {
		return err
	}
	return s.checkHop(k, r)
}

// checkDestination checks that a route does not lead into a subnet: subnet routes come first.
func (s *State) checkDestination(n *vpc.Network, p netip.Prefix) error {
	for _, url := range n.Subnetworks {
		subnet, err := core.Get[*vpc.Subnetwork](s.Core(), core.ParseURL(url))
		if err == nil && subnet.Prefix().Overlaps(p) && p.Bits() >= subnet.Prefix().Bits() {
			return core.Invalid("resource.destRange", p.String(), "The range is in that of subnetwork '%s'.", subnet.Ref())
		}
	}
	return nil
}

// checkHop checks that a route has one next hop.
func (s *State) checkHop(k *core.Call, r *Route) error {
	hops := 0
	for _, hop := range []string{r.NextHopInstance, r.NextHopIP, r.NextHopGateway} {
		if hop != "" {
			hops++
		}
	}
	if hops != 1 {
		return core.Invalid("resource.nextHop", strconv.Itoa(hops), "Exactly one next hop must be specified.")
	}
	if r.NextHopIP != "" {
		if _, err := netip.ParseAddr(r.NextHopIP); err != nil {
			return core.Invalid("resource.nextHopIp", r.NextHopIP, "Must be an IP address.")
		}
	}
	if r.NextHopInstance == "" {
		return nil
	}
	i, err := s.UseInstance(k, "resource.nextHopInstance", r.NextHopInstance)
	if err != nil {
		return err
	}
	r.NextHopInstance = i.SelfLink
	return nil
}

// showRoute adds the warnings for the present state of the next hop.
func showRoute(s *State, r *Route) *Route {
	code, message := s.hopProblem(r)
	if code == "" {
		return r
	}
	view := *r
	view.Warnings = []Warning{{code, message}}
	return &view
}

func (s *State) hopProblem(r *Route) (code, message string) {
	if r.NextHopInstance == "" {
		return "", ""
	}
	i, err := core.Get[*Instance](s.Core(), core.ParseURL(r.NextHopInstance))
	switch {
	case err != nil:
		return "NEXT_HOP_INSTANCE_NOT_FOUND", "Next hop instance '" + r.NextHopInstance + "' does not exist."
	case i.NetworkInterfaces[0].Network != r.Network:
		return "NEXT_HOP_INSTANCE_NOT_ON_NETWORK", "Next hop instance '" + i.SelfLink + "' is not on the network."
	case i.Status != StatusRunning:
		return "NEXT_HOP_NOT_RUNNING", "Next hop instance '" + i.SelfLink + "' is not running."
	case !i.CanIPForward:
		return "NEXT_HOP_CANNOT_IP_FORWARD", "Next hop instance '" + i.SelfLink + "' cannot forward packets."
	}
	return "", ""
}

// RouteHop returns the name of the instance that a route leads to, and whether it exists.
func (s *State) RouteHop(r *Route) (name string, exists bool) {
	if r.NextHopInstance == "" {
		return "", true
	}
	ref := core.ParseURL(r.NextHopInstance)
	_, err := core.Get[*Instance](s.Core(), ref)
	return cmp.Or(ref.Name, r.NextHopInstance), err == nil
}
