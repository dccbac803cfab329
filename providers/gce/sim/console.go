package sim

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/auth"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/lb"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

var (
	_ world.World         = (*Cloud)(nil)
	_ world.InternalIPs   = (*Cloud)(nil)
	_ world.ZoneDisrupter = (*Cloud)(nil)
	_ world.PortKeeper    = (*Cloud)(nil)
)

// KeepsPorts implements world.PortKeeper: passthrough load balancers deliver packets as they are.
func (*Cloud) KeepsPorts() {}

// Launch implements world.World.
func (c *Cloud) Launch(m world.Machine) (node *v1.Node, err error) {
	err = c.console(func(s *lb.State) error {
		i, err := s.Launch(m)
		if err == nil {
			node = world.Machine{Name: i.Name, PodCIDRs: i.PodCIDRs()}.Node()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("launching machine %s: %w", m.Name, err)
	}
	return node, nil
}

// Machine implements world.World.
func (c *Cloud) Machine(nodeName string) (m world.Machine, err error) {
	err = c.onMachine(nodeName, func(_ *lb.State, i *vm.Instance) error {
		m = world.Machine{Name: i.Name, Zone: i.Ref().Zone(), Region: i.Ref().Region(), PodCIDRs: i.PodCIDRs(),
			Type: i.MachineType[strings.LastIndexByte(i.MachineType, '/')+1:]}
		return nil
	})
	return m, err
}

// InternalIP implements world.InternalIPs.
func (c *Cloud) InternalIP(nodeName string) (address string, err error) {
	err = c.onMachine(nodeName, func(_ *lb.State, i *vm.Instance) error {
		address = i.NetworkInterfaces[0].NetworkIP
		return nil
	})
	return address, err
}

// Terminate implements world.World.
func (c *Cloud) Terminate(nodeName string) error {
	return c.onMachine(nodeName, func(s *lb.State, i *vm.Instance) error { s.Terminate(i); return nil })
}

// Stop implements world.World.
func (c *Cloud) Stop(nodeName string) error {
	return c.SetInstanceStatus(nodeName, vm.StatusTerminated)
}

// SetInstanceStatus sets the status of a machine's instance, such as SUSPENDED.
func (c *Cloud) SetInstanceStatus(nodeName, status string) error {
	return c.onMachine(nodeName, func(_ *lb.State, i *vm.Instance) error { i.Status = status; return nil })
}

// onMachine runs a function on the instance of a machine.
func (c *Cloud) onMachine(nodeName string, work func(*lb.State, *vm.Instance) error) error {
	return c.console(func(s *lb.State) error {
		i, err := s.Machine(nodeName)
		if err != nil {
			return err
		}
		return work(s, i)
	})
}

// LoadBalancers implements world.World.
func (c *Cloud) LoadBalancers() []world.LoadBalancer {
	var out []world.LoadBalancer
	c.inspect(func(s *lb.State) { out = s.LoadBalancers() })
	world.SortLoadBalancers(out)
	return out
}

// DeleteLoadBalancer implements world.World: what was behind the forwarding rule stays.
func (c *Cloud) DeleteLoadBalancer(name string) error {
	return c.console(func(s *lb.State) error { return s.Delete(name) })
}

// Drift implements world.World. It removes the first instance and the health check of a target pool, or the first group
// of a backend service, whose session affinity it changes.
func (c *Cloud) Drift(name string) (fields []string, err error) {
	return ask(c, func(s *lb.State) ([]string, error) { return s.Drift(name) })
}

// Routes implements world.World.
func (c *Cloud) Routes() []world.Route {
	var out []world.Route
	c.inspect(func(s *lb.State) {
		for _, r := range core.All[*vm.Route](s.Core(), "routes") {
			foreign := s.Foreign[r.Ref().String()]
			name, exists := s.RouteHop(r)
			if !exists {
				name = ""
			}
			out = append(out, world.Route{Destination: r.DestRange, NodeName: name, Blackhole: !exists, Owned: !foreign})
		}
	})
	world.SortRoutes(out)
	return out
}

// AddForeignRoute implements world.World. The route leads to the internet gateway.
func (c *Cloud) AddForeignRoute(destination string) error {
	return c.console(func(s *lb.State) error {
		p, err := netip.ParsePrefix(destination)
		if err != nil {
			return fmt.Errorf("foreign route: %w", err)
		}
		name := "foreign-" + strings.NewReplacer(".", "-", "/", "-", ":", "-").Replace(p.Masked().String())
		ref := core.Ref{Project: c.options.NetworkProject, Scope: core.ScopeGlobal, Collection: "routes", Name: name}
		if _, err := core.Get[*vm.Route](s.Core(), ref); err == nil {
			return fmt.Errorf("foreign route: a route to %s exists", p)
		}
		s.Add(&vm.Route{Network: s.ClusterSubnet().Network, DestRange: p.Masked().String(), Priority: new(1000),
			RouteType: "STATIC", NextHopGateway: core.Canonical + "projects/" + c.options.NetworkProject +
				"/global/gateways/default-internet-gateway"}, "compute#route", ref)
		s.Foreign[ref.String()] = true
		return nil
	})
}

// Objects implements world.World.
func (c *Cloud) Objects() map[string]int {
	out := map[string]int{}
	c.inspect(func(s *lb.State) {
		for _, collection := range s.Collections() {
			if collection != "operations" && collection != "" {
				out[strings.ReplaceAll(core.SnakeCase(collection), "_", "-")] = len(core.All[core.Entity](s.Core(), collection))
			}
		}
		for _, p := range core.All[*lb.Pool](s.Core(), "targetPools") {
			out["target-pool-instances"] += len(p.Instances)
		}
		for _, g := range core.All[*vm.Group](s.Core(), "instanceGroups") {
			out["instance-group-instances"] += g.Size
		}
	})
	return out
}

// Zones implements world.ZoneDisrupter.
func (c *Cloud) Zones() []string { return slices.Clone(c.options.Zones) }

// DisruptZones implements world.ZoneDisrupter. Reads and changes in the zones fail with 503; aggregated lists fail too,
// or with returnPartialSuccess name the zones as unreachable.
func (c *Cloud) DisruptZones(zones ...string) {
	c.inspect(func(s *lb.State) { s.Disrupted = slices.Clone(zones) })
}

// SetHealth makes a machine fail its health checks, or pass them again.
func (c *Cloud) SetHealth(nodeName string, healthy bool) error {
	return c.onMachine(nodeName, func(s *lb.State, i *vm.Instance) error { s.Unhealthy[i.Name] = !healthy; return nil })
}

// SetDeny replaces Options.Deny; nil denies nothing.
func (c *Cloud) SetDeny(deny func(permission, project string) bool) {
	c.inspect(func(*lb.State) { c.deny = deny })
}

// UsedPermissions returns the permissions that callers used, as "compute.targetPools.use in project", sorted.
func (c *Cloud) UsedPermissions() (out []string) {
	c.inspect(func(*lb.State) { out = slices.Sorted(maps.Keys(c.used)) })
	return out
}

// SetSettleTimes replaces Options.SettleTime and SettleTimes for future operations.
func (c *Cloud) SetSettleTimes(all time.Duration, byMethod map[string]time.Duration) {
	c.inspect(func(*lb.State) { c.options.SettleTime, c.options.SettleTimes = all, maps.Clone(byMethod) })
}

// SetOutcomes replaces all rules; without rules every operation succeeds. Operations in progress keep their outcome.
func (c *Cloud) SetOutcomes(rules ...OutcomeRule) {
	c.inspect(func(s *lb.State) { s.SetOutcomes(rules) })
}

// Unstick lets all stuck operations succeed.
func (c *Cloud) Unstick() { c.inspect(func(s *lb.State) { s.Unstick() }) }

// Token returns a valid token, as another client has one.
func (c *Cloud) Token() (token string) {
	c.inspect(func(*lb.State) { token = c.tokens.New() })
	return token
}

// EndTokens expires all tokens.
func (c *Cloud) EndTokens() { c.inspect(func(*lb.State) { c.tokens.EndAll() }) }

// KeyFile returns the key file of the manager's service account, with token_uri at the endpoint.
func (c *Cloud) KeyFile(endpoint string) (file []byte, err error) {
	return ask(c, func(*lb.State) ([]byte, error) { return c.tokens.KeyFile(endpoint) })
}

// SetSelf sets the machine that the metadata server belongs to. Without one it is not a node of the cluster.
func (c *Cloud) SetSelf(nodeName string) error {
	return c.onMachine(nodeName, func(_ *lb.State, i *vm.Instance) error { c.self = i.Name; return nil })
}

// machine returns the instance that the metadata server belongs to.
func (c *Cloud) machine(s *lb.State) auth.Machine {
	o := c.options
	m := auth.Machine{Project: o.Project, ProjectNumber: o.Number(o.Project), Zone: o.Zones[0], Name: "control-plane",
		ID: "1", Network: o.Network, Tags: o.Tags}
	if i := s.ByNodeName(c.self); i != nil {
		m.Zone, m.Name, m.ID, m.IP, m.Tags = i.Ref().Zone(), i.Name, i.ID, i.NetworkInterfaces[0].NetworkIP, i.Tags.Items
	}
	return m
}

// Places are the URLs of the fixtures.
type Places struct{ Network, Subnetwork string }

// Places returns the URLs of the cluster's network and subnet.
func (c *Cloud) Places() (p Places) {
	c.inspect(func(s *lb.State) {
		subnet := s.ClusterSubnet()
		p = Places{Network: subnet.Network, Subnetwork: subnet.SelfLink}
	})
	return p
}

// AddSubnetwork adds a subnet of the cluster's network in the cluster's region, and returns its URL.
func (c *Cloud) AddSubnetwork(name string, prefix netip.Prefix) (url string, err error) {
	return ask(c, func(s *lb.State) (string, error) {
		if p := s.ClusterSubnet().Prefix(); p.Overlaps(prefix) {
			return "", fmt.Errorf("subnet %s overlaps %s", prefix, p)
		}
		n, err := core.Get[*vpc.Network](s.Core(), core.ParseURL(s.ClusterSubnet().Network))
		if err != nil {
			return "", err
		}
		return s.AddSubnetwork(n, c.options.Region, name, prefix).SelfLink, nil
	})
}

// Check returns all inconsistencies of the state, joined: references to resources that do not exist, and addresses
// whose user does not exist.
func (c *Cloud) Check() error {
	var problems []error
	c.inspect(func(s *lb.State) {
		for _, text := range append(s.Dangling(), s.CheckAddresses(s.Exists)...) {
			problems = append(problems, errors.New(text))
		}
	})
	return errors.Join(problems...)
}
