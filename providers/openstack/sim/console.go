package sim

import (
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

var _ world.World = (*Cloud)(nil)

// Launch implements world.World.
func (c *Cloud) Launch(m world.Machine) (node *v1.Node, err error) {
	err = c.console(func(t *tx) error {
		s, err := t.launch(m)
		if err == nil {
			node = world.Machine{Name: s.Name, PodCIDRs: s.podCIDRs}.Node()
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
	err = c.onMachine(nodeName, func(t *tx, s *server) error {
		m = world.Machine{
			Name: s.Name, Zone: s.Zone, Type: t.flavors[s.Flavor].Name, Region: t.o.Region, PodCIDRs: slices.Clone(s.podCIDRs),
		}
		return nil
	})
	return m, err
}

// Server returns the ID of a machine's server, or nothing if there is no such machine.
func (c *Cloud) Server(nodeName string) (id string) {
	c.inspect(func(t *tx) {
		if s := t.byNodeName(nodeName); s != nil {
			id = s.ID
		}
	})
	return id
}

// Terminate implements world.World.
func (c *Cloud) Terminate(nodeName string) error {
	return c.onMachine(nodeName, func(t *tx, s *server) error { t.terminate(s); return nil })
}

// Stop implements world.World.
func (c *Cloud) Stop(nodeName string) error { return c.SetServerStatus(nodeName, statusShutoff) }

// SetServerStatus puts a machine's server into a state of Nova's, such as SUSPENDED or ERROR.
func (c *Cloud) SetServerStatus(nodeName, status string) error {
	return c.onMachine(nodeName, func(t *tx, s *server) error { t.setStatus(s, status); return nil })
}

// DeleteFlavor deletes a flavor. Servers that were made with it stay as they are.
func (c *Cloud) DeleteFlavor(name string) error {
	return c.console(func(t *tx) error {
		for _, f := range t.flavors {
			if f.Name == name && !f.deleted {
				f.deleted = true
				return nil
			}
		}
		return fmt.Errorf("no flavor is called %q", name)
	})
}

// Account holds credentials for a project.
func (c *Cloud) Account() (a Account) {
	c.inspect(func(t *tx) {
		u, p, trustee := t.userNamed(userName), t.projects[t.clusterProject], t.userNamed("trustee")
		cred, trust := bySeq(t.appCreds)[0], bySeq(t.trusts)[0]
		a = Account{
			UserID: u.ID, Username: u.name, Password: u.password, ProjectID: p.ID, ProjectName: p.name,
			DomainID: domainID, DomainName: domainName, Region: t.o.Region,
			ApplicationCredentialID: cred.ID, ApplicationCredentialName: cred.name, ApplicationCredentialSecret: cred.secret,
			TrustID: trust.ID, TrusteeID: trustee.ID, TrusteeUsername: trustee.name, TrusteePassword: trustee.password,
		}
	})
	return a
}

// OtherAccount returns credentials for another project than the cluster's.
func (c *Cloud) OtherAccount() Account { return c.accountOf(otherUser, otherProject) }

// Administrator returns credentials of the cloud's administrator.
func (c *Cloud) Administrator() Account { return c.accountOf(adminUser, "admin") }

func (c *Cloud) accountOf(userName, projectName string) (a Account) {
	c.inspect(func(t *tx) {
		u, p := t.userNamed(userName), t.projectOf(&reference{Name: projectName, Domain: &reference{ID: domainID}})
		a = Account{UserID: u.ID, Username: u.name, Password: u.password, ProjectID: p.ID, ProjectName: p.name,
			DomainID: domainID, DomainName: domainName, Region: t.o.Region}
	})
	return a
}

// SetPassword changes the password of the manager's user. Tokens stay valid.
func (c *Cloud) SetPassword(password string) {
	c.inspect(func(t *tx) { t.userNamed(userName).password = password })
}

// EndTokens expires all tokens.
func (c *Cloud) EndTokens() {
	c.inspect(func(t *tx) { clear(t.tokens) })
}

// EndTokensAfter expires all tokens after a number of further authenticated calls.
func (c *Cloud) EndTokensAfter(calls int) {
	c.inspect(func(t *tx) { t.tokensEndAfter = calls })
}

// Routes implements world.World.
func (c *Cloud) Routes() []world.Route {
	var out []world.Route
	c.inspect(func(t *tx) {
		for _, r := range t.routers[t.clusterRouter].Routes {
			name, ok := t.nodeOf(r.NextHop)
			foreign := t.foreign[r.Destination]
			if !ok {
				name = ""
			}
			out = append(out, world.Route{Destination: r.Destination, NodeName: name, Blackhole: !ok && !foreign,
				Owned: !foreign})
		}
	})
	world.SortRoutes(out)
	return out
}

// AddForeignRoute implements world.World. The route leads to an address of the private network that no machine has.
func (c *Cloud) AddForeignRoute(destination string) error {
	return c.console(func(t *tx) error {
		p, err := netip.ParsePrefix(destination)
		if err != nil {
			return fmt.Errorf("foreign route: %w", err)
		}
		r := t.routers[t.clusterRouter]
		if slices.ContainsFunc(r.Routes, func(x route) bool { return x.Destination == p.Masked().String() }) {
			return fmt.Errorf("foreign route: a route to %s exists", p)
		}
		hop := lastOf(t.o.Private).Prev().Prev()
		t.used[t.subnetsOf(t.clusterNetwork, 4)[0].ID][hop] = true
		r.Routes = append(r.Routes, route{Destination: p.Masked().String(), NextHop: hop.String()})
		t.foreign[p.Masked().String()] = true
		t.markUpdated(&r.neutronObject)
		return nil
	})
}

// Objects implements world.World. The objects of all projects are counted; those that come with Octavia's service are
// not.
func (c *Cloud) Objects() map[string]int {
	out := map[string]int{}
	c.inspect(func(t *tx) {
		out["servers"] = len(t.servers)
		out["ports"] = len(t.ports)
		for _, p := range t.ports {
			out["allowed-address-pairs"] += len(p.Pairs)
			out["port-security-groups"] += len(p.Groups)
		}
		out["floating-ips"] = len(t.addresses)
		out["security-groups"] = len(t.groups)
		out["security-group-rules"] = len(t.rules)
		out["load-balancers"], out["listeners"], out["pools"] = len(t.balancers), len(t.listeners), len(t.pools)
		out["members"], out["health-monitors"] = t.memberCount(), len(t.monitors)
		for _, r := range t.routers {
			out["routes"] += len(r.Routes)
		}
	})
	return out
}

// inspect reads the state.
func (c *Cloud) inspect(read func(*tx)) {
	// A function that returns no error makes console return none.
	_ = c.console(func(t *tx) error { read(t); return nil })
}

// onMachine changes or reads the server of a machine.
func (c *Cloud) onMachine(nodeName string, work func(*tx, *server) error) error {
	return c.console(func(t *tx) error {
		s, err := t.machine(nodeName)
		if err != nil {
			return err
		}
		return work(t, s)
	})
}
