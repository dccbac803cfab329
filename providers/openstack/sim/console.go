package sim

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/keystone"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/nova"
)

var _ world.World = (*Cloud)(nil)

// Launch implements world.World.
func (c *Cloud) Launch(m world.Machine) (node *v1.Node, err error) {
	err = c.console(func(t *tx) error {
		s, err := t.Launch(m)
		if err == nil {
			node = world.Machine{Name: s.Name, PodCIDRs: s.PodCIDRs}.Node()
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
	err = c.onMachine(nodeName, func(t *tx, s *nova.Server) error {
		m = world.Machine{
			Name: s.Name, Zone: s.Zone, Type: t.Flavors[s.Flavor].Name, Region: t.Options.Region,
			PodCIDRs: slices.Clone(s.PodCIDRs),
		}
		return nil
	})
	return m, err
}

// InternalIP implements world.InternalIPs.
func (c *Cloud) InternalIP(nodeName string) (address string, err error) {
	err = c.onMachine(nodeName, func(t *tx, s *nova.Server) error {
		for _, p := range t.PortsOfServer(s.ID) {
			for _, f := range p.FixedIPs {
				address = cmp.Or(address, f.Address)
			}
		}
		return nil
	})
	return address, err
}

// Server returns the ID of a machine's server, "" for an unknown machine.
func (c *Cloud) Server(nodeName string) (id string) {
	c.inspect(func(t *tx) {
		if s := t.ByNodeName(nodeName); s != nil {
			id = s.ID
		}
	})
	return id
}

// Terminate implements world.World.
func (c *Cloud) Terminate(nodeName string) error {
	return c.onMachine(nodeName, func(t *tx, s *nova.Server) error { t.Terminate(s); return nil })
}

// Stop implements world.World.
func (c *Cloud) Stop(nodeName string) error { return c.SetServerStatus(nodeName, nova.StatusShutoff) }

// SetServerStatus sets the status of a machine's server, such as SUSPENDED or ERROR.
func (c *Cloud) SetServerStatus(nodeName, status string) error {
	return c.onMachine(nodeName, func(t *tx, s *nova.Server) error { t.SetStatus(s, status); return nil })
}

// DeleteFlavor deletes a flavor. Existing servers of it stay unchanged.
func (c *Cloud) DeleteFlavor(name string) error {
	return c.console(func(t *tx) error {
		f, err := t.FlavorNamed(name)
		if err == nil {
			f.Deleted = true
		}
		return err
	})
}

// Account holds credentials for a project.
func (c *Cloud) Account() (a Account) {
	c.inspect(func(t *tx) {
		a = t.account(userName, t.Options.Cluster)
		cred := core.BySeq(t.keystone.AppCreds)[0]
		a.ApplicationCredentialID, a.ApplicationCredentialName = cred.ID, cred.Name
		a.ApplicationCredentialSecret = cred.Secret
		trustee := t.keystone.UserNamed(trusteeUser)
		a.TrustID, a.TrusteeID = core.BySeq(t.keystone.Trusts)[0].ID, trustee.ID
		a.TrusteeUsername, a.TrusteePassword = trustee.Name, trustee.Password
	})
	return a
}

// OtherAccount returns credentials for another project than the cluster's.
func (c *Cloud) OtherAccount() (a Account) {
	c.inspect(func(t *tx) { a = t.account(otherUser, otherProject) })
	return a
}

// Administrator returns credentials of the cloud's administrator.
func (c *Cloud) Administrator() (a Account) {
	c.inspect(func(t *tx) { a = t.account(adminUser, adminProject) })
	return a
}

// account returns the credentials of a user for a project.
func (t *tx) account(user, project string) Account {
	u, p := t.keystone.UserNamed(user), t.keystone.ProjectNamed(project)
	return Account{UserID: u.ID, Username: u.Name, Password: u.Password, ProjectID: p.ID, ProjectName: p.Name,
		DomainID: keystone.DomainID, DomainName: keystone.DomainName, Region: t.Options.Region}
}

// SetPassword changes the password of the manager's user. Tokens stay valid.
func (c *Cloud) SetPassword(password string) {
	c.inspect(func(t *tx) { t.keystone.UserNamed(userName).Password = password })
}

// SetAccessRules limits the manager's application credential to the operations for which allows returns true; nil
// removes the limit. Unlike real rules it gets operations instead of methods and paths.
func (c *Cloud) SetAccessRules(allows func(service, operation string) bool) {
	c.inspect(func(t *tx) { core.BySeq(t.keystone.AppCreds)[0].Allows = allows })
}

// EndTokens expires all tokens.
func (c *Cloud) EndTokens() {
	c.inspect(func(t *tx) { clear(t.keystone.Tokens) })
}

// EndTokensAfter expires all tokens after a number of further authenticated calls.
func (c *Cloud) EndTokensAfter(calls int) {
	c.inspect(func(t *tx) { t.keystone.TokensEndAfter = calls })
}

// Routes implements world.World.
func (c *Cloud) Routes() []world.Route {
	var out []world.Route
	c.inspect(func(t *tx) {
		names := t.NodeNames()
		for _, r := range t.Routers[t.Cluster.Router].Routes {
			name, foreign := names[r.NextHop], t.Foreign[r.Destination]
			out = append(out, world.Route{Destination: r.Destination, NodeName: name, Blackhole: name == "" && !foreign,
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
		r := t.Routers[t.Cluster.Router]
		if slices.ContainsFunc(r.Routes, func(old neutron.Route) bool { return old.Destination == p.Masked().String() }) {
			return fmt.Errorf("foreign route: a route to %s exists", p)
		}
		hop := neutron.LastOf(t.Options.Private).Prev().Prev()
		t.Used[t.SubnetsOf(t.Cluster.Network, 4)[0].ID][hop] = true
		r.Routes = append(r.Routes, neutron.Route{Destination: p.Masked().String(), NextHop: hop.String()})
		t.Foreign[p.Masked().String()] = true
		t.MarkUpdated(&r.Base)
		return nil
	})
}

// Objects implements world.World. It counts the objects of all projects, except those of Octavia's service.
func (c *Cloud) Objects() map[string]int {
	out := map[string]int{}
	c.inspect(func(t *tx) {
		out["servers"] = len(t.Servers)
		out["ports"] = len(t.Ports)
		for _, p := range t.Ports {
			out["allowed-address-pairs"] += len(p.Pairs)
			out["port-security-groups"] += len(p.Groups)
		}
		out["floating-ips"] = len(t.Addresses)
		out["security-groups"] = len(t.Groups)
		out["security-group-rules"] = len(t.Rules)
		out["load-balancers"], out["listeners"], out["pools"] = len(t.Balancers), len(t.Listeners), len(t.Pools)
		out["members"], out["health-monitors"] = t.MemberCount(), len(t.Monitors)
		for _, r := range t.Routers {
			out["routes"] += len(r.Routes)
		}
	})
	return out
}

// Check returns all inconsistencies of the state, joined: dangling references, inconsistent ends of a relation, and
// addresses that are allocated and not in use, or the reverse.
func (c *Cloud) Check() (err error) {
	c.inspect(func(t *tx) { err = errors.Join(append(t.neutron.Check(), t.Check()...)...) })
	return err
}

// inspect runs a function of an administrator that cannot fail.
func (c *Cloud) inspect(work func(*tx)) {
	_ = c.console(func(t *tx) error { work(t); return nil })
}

// onMachine runs a function on the server of a machine.
func (c *Cloud) onMachine(nodeName string, work func(*tx, *nova.Server) error) error {
	return c.console(func(t *tx) error {
		s, err := t.Machine(nodeName)
		if err != nil {
			return err
		}
		return work(t, s)
	})
}
