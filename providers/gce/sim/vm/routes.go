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

	Network         string    `json:"network" set:"required" link:"networks"`
	DestRange       string    `json:"destRange" set:"required" format:"range"`
	Priority        *int      `json:"priority" default:"1000" range:"0-65535"`
	Tags            []string  `json:"tags,omitempty"`
	NextHopInstance string    `json:"nextHopInstance,omitempty" link:"instances.use" outlived:"true"`
	NextHopIP       string    `json:"nextHopIp,omitempty" format:"ip"`
	NextHopGateway  string    `json:"nextHopGateway,omitempty"`
	RouteType       string    `json:"routeType,omitempty" enum:"BGP|STATIC|SUBNET|TRANSIT" set:"output"`
	RouteStatus     string    `json:"routeStatus,omitempty" enum:"ACTIVE|DROPPED|INACTIVE|PENDING" set:"output"`
	Warnings        []Warning `json:"warnings,omitempty" set:"output"`
}

// Warning reports a problem.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (s *State) routes() core.Collection[*Route] {
	return core.Collection[*Route]{State: s.Core(), Name: "routes", Scope: core.ScopeGlobal, Quota: core.QuotaRoutes,
		Insert: s.insertRoute, Show: s.showRoute, Aggregated: "-",
		Removed: func(r *Route) { delete(s.Foreign, r.Ref().String()) }}
}

func (s *State) insertRoute(k *core.Call, r *Route) error {
	r.RouteType = "STATIC"
	if err := k.Permit("networks.updatePolicy", core.ParseURL(r.Network)); err != nil {
		return err
	}
	hops := core.CountTrue(r.NextHopInstance != "", r.NextHopIP != "", r.NextHopGateway != "")
	if hops != 1 {
		return core.Invalid("resource.nextHop", strconv.Itoa(hops), "Exactly one next hop must be specified.")
	}
	return s.checkDestination(r)
}

// checkDestination checks that a route does not lead into a subnet: subnet routes come first.
func (s *State) checkDestination(r *Route) error {
	p := netip.MustParsePrefix(r.DestRange)
	n, _ := core.At[*vpc.Network](s.Core(), r.Network)
	for _, subnet := range core.AllAt[*vpc.Subnetwork](s.Core(), n.Subnetworks) {
		if subnet.Prefix().Overlaps(p) && p.Bits() >= subnet.Prefix().Bits() {
			return core.Invalid("resource.destRange", p.String(), "The range is in that of subnetwork '%s'.", subnet.Ref())
		}
	}
	return nil
}

// showRoute adds the warnings for the present state of the next hop.
func (s *State) showRoute(r *Route) *Route {
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
	i, exists := core.At[*Instance](s.Core(), r.NextHopInstance)
	switch {
	case !exists:
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
	_, exists = core.At[*Instance](s.Core(), r.NextHopInstance)
	return cmp.Or(core.ParseURL(r.NextHopInstance).Name, r.NextHopInstance), exists
}
