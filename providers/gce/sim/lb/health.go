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

func state(healthy bool) string {
	if healthy {
		return "HEALTHY"
	}
	return "UNHEALTHY"
}

// poolHealth answers with the health of one instance of a pool, at each address of its forwarding rules.
func poolHealth(s *State, k *core.Call) (any, error) {
	p, err := pools.Find(s, k)
	if err != nil {
		return nil, err
	}
	var in struct {
		Instance string `json:"instance"`
	}
	if err := core.Decode(k, &in); err != nil {
		return nil, err
	}
	i, err := s.UseInstance(k, "resource.instance", in.Instance)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(p.Instances, i.SelfLink) {
		return nil, core.Invalid("resource.instance", in.Instance, "The instance is not in the target pool.")
	}
	out := []healthStatus{}
	for _, r := range s.rules() {
		if r.Target == p.SelfLink {
			out = append(out, healthStatus{Instance: i.SelfLink, IPAddress: r.IPAddress,
				HealthState: state(s.isHealthy(i, s.poolProbe(p, r)))})
		}
	}
	return map[string]any{"kind": "compute#targetPoolInstanceHealth", "healthStatus": out}, nil
}

// poolProbe returns the probe of a pool at the address of a rule, nil without a health check.
func (s *State) poolProbe(p *Pool, r *Rule) *probe {
	if len(p.HealthChecks) == 0 {
		return nil
	}
	c, err := core.Get[*LegacyCheck](s.Core(), core.ParseURL(p.HealthChecks[0]))
	ip, ipErr := netip.ParseAddr(r.IPAddress)
	if err != nil || ipErr != nil {
		return nil
	}
	return &probe{ip, c.Port, legacyProber}
}

// backendHealth answers with the health of the instances of one group of a backend service.
func backendHealth(s *State, k *core.Call) (any, error) {
	b, err := regionalBackends.Find(s, k)
	if err != nil {
		return nil, err
	}
	var in struct {
		Group string `json:"group"`
	}
	if err := core.Decode(k, &in); err != nil {
		return nil, err
	}
	r, err := core.ResolveURL("resource.group", in.Group, "instanceGroups", k.Target)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(b.Backends, func(x Backend) bool { return x.Group == r.URL() })
	if at < 0 {
		return nil, core.Invalid("resource.group", in.Group, "The group is not in the backend service.")
	}
	g, err := core.Get[*vm.Group](s.Core(), r)
	if err != nil {
		return nil, err
	}
	out := []healthStatus{}
	for _, i := range s.membersOf(g) {
		ip := i.NetworkInterfaces[0].NetworkIP
		out = append(out, healthStatus{Instance: i.SelfLink, IPAddress: ip, HealthState: state(s.isHealthy(i,
			s.backendProbe(b)))})
	}
	return map[string]any{"kind": "compute#backendServiceGroupHealth", "healthStatus": out}, nil
}

// backendProbe returns the probe of a backend service: at the address of its forwarding rule.
func (s *State) backendProbe(b *Backends) *probe {
	if len(b.HealthChecks) == 0 {
		return nil
	}
	c, err := core.Get[*Check](s.Core(), core.ParseURL(b.HealthChecks[0]))
	if err != nil {
		return nil
	}
	for _, r := range s.rules() {
		if ip, err := netip.ParseAddr(r.IPAddress); err == nil && r.BackendService == b.SelfLink {
			return &probe{ip, c.target().Port, prober}
		}
	}
	return nil
}

func (s *State) membersOf(g *vm.Group) []*vm.Instance {
	var out []*vm.Instance
	for _, url := range slices.Sorted(slices.Values(g.Members())) {
		if i, err := core.Get[*vm.Instance](s.Core(), core.ParseURL(url)); err == nil {
			out = append(out, i)
		}
	}
	return out
}
