package lb

import (
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

// probers are addresses from which health checks come: of the first range that the page "Health checks overview" lists
// for target pools, and for backend services.
var (
	legacyProber = netip.MustParseAddr("35.191.0.1")
	prober       = netip.MustParseAddr("130.211.0.1")
)

// healthStatus is the health of an instance.
type healthStatus struct {
	Instance    string `json:"instance"`
	IPAddress   string `json:"ipAddress,omitempty"`
	Port        int    `json:"port,omitempty"`
	HealthState string `json:"healthState"`
}

// instanceReference and groupReference name a backend in a request.
type (
	instanceReference struct {
		Instance string `json:"instance" set:"required" link:"instances.use"`
	}
	groupReference struct {
		Group string `json:"group" set:"required" link:"instanceGroups"`
	}
)

// probe is what a health check connects to.
type probe struct {
	ip     netip.Addr
	port   int
	source netip.Addr
}

// isHealthy reports whether an instance passes a health check: it runs, and firewall rules allow the check.
func (s *State) isHealthy(i *vm.Instance, p *probe) bool {
	if i.Status != vm.StatusRunning || s.Unhealthy[i.Name] {
		return false
	}
	if p == nil {
		return true // A pool without a health check.
	}
	nic := i.NetworkInterfaces[0]
	flow := vpc.Flow{Network: nic.Network, Destination: p.ip, Protocol: protocolTCP, Port: p.port, Tags: i.Tags.Items}
	return vpc.AllowsFrom(s.Rules(nic.Network, p.ip.String()), flow, p.source)
}

// status returns the health of an instance at an address.
func (s *State) status(i *vm.Instance, ip string, p *probe) healthStatus {
	state := map[bool]string{true: "HEALTHY", false: "UNHEALTHY"}[s.isHealthy(i, p)]
	return healthStatus{Instance: i.SelfLink, IPAddress: ip, HealthState: state}
}

// poolHealth answers with the health of one instance of a pool, at each address of its forwarding rules.
func (s *State) poolHealth(_ *core.Call, p *Pool, in *instanceReference) (any, error) {
	i, _ := core.At[*vm.Instance](s.Core(), in.Instance)
	if !slices.Contains(p.Instances, in.Instance) {
		return nil, core.Invalid("resource.instance", in.Instance, "The instance is not in the target pool.")
	}
	out := []healthStatus{}
	for _, r := range s.rules() {
		if r.Target == p.SelfLink {
			out = append(out, s.status(i, r.IPAddress, s.poolProbe(p, r)))
		}
	}
	return map[string]any{"kind": "compute#targetPoolInstanceHealth", "healthStatus": out}, nil
}

// poolProbe returns the probe of a pool at the address of a rule, nil without a health check.
func (s *State) poolProbe(p *Pool, r *Rule) *probe {
	for _, c := range core.AllAt[*LegacyCheck](s.Core(), p.HealthChecks) {
		return &probe{r.ip(), c.Port, legacyProber}
	}
	return nil
}

// backendHealth answers with the health of the instances of one group of a backend service.
func (s *State) backendHealth(_ *core.Call, b *Backends, in *groupReference) (any, error) {
	g, _ := core.At[*vm.Group](s.Core(), in.Group)
	if !slices.Contains(s.groups(b), g) {
		return nil, core.Invalid("resource.group", in.Group, "The group is not in the backend service.")
	}
	out := []healthStatus{}
	for _, i := range s.membersOf(g) {
		out = append(out, s.status(i, i.NetworkInterfaces[0].NetworkIP, s.backendProbe(b)))
	}
	return map[string]any{"kind": "compute#backendServiceGroupHealth", "healthStatus": out}, nil
}

// backendProbe returns the probe of a backend service: at the address of its forwarding rule.
func (s *State) backendProbe(b *Backends) *probe {
	for _, c := range core.AllAt[*Check](s.Core(), b.HealthChecks) {
		for _, r := range s.rules() {
			if r.BackendService == b.SelfLink {
				return &probe{r.ip(), c.target().Port, prober}
			}
		}
	}
	return nil
}

func (s *State) membersOf(g *vm.Group) []*vm.Instance {
	return core.AllAt[*vm.Instance](s.Core(), g.Members())
}
