package realservices

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
)

// New creates a project with a network for machines, which a router connects to the external network. The caller must
// close it.
func New(ctx context.Context, o Options) (*Cloud, error) {
	env, err := readCredentials(filepath.Join(o.Dir, credentials))
	if err != nil {
		return nil, err
	}
	admin, err := login(ctx, env["OS_AUTH_URL"], env["OS_USERNAME"], env["OS_PASSWORD"], env["OS_PROJECT_NAME"])
	if err != nil {
		return nil, err
	}
	c := &Cloud{admin: admin, front: newFront(admin.roots, o), foreign: map[string]bool{}}
	err = c.createProject(ctx, o.IPv6)
	if err == nil && o.Spares > 0 {
		err = c.bootSpares(ctx, o.Spares)
	}
	if err != nil {
		err = fmt.Errorf("setting up a project: %w", err)
		return nil, errors.Join(err, c.Close()) //nolint:contextcheck // removed even if ctx has ended
	}
	return c, nil
}

// roles returns the roles that the services' policies require for load balancers.
func roles() []string { return []string{"member", "load-balancer_member", "creator"} }

// createProject creates the project, and the network of machines.
func (c *Cloud) createProject(ctx context.Context, ipv6 bool) error {
	name := "ccm-" + strings.ToLower(rand.Text()[:10])
	var err error
	p := &c.places
	if p.project, err = c.admin.create(ctx, "identity/projects", "project",
		object{"name": name, "domain_id": "default"}); err != nil {
		return err
	}
	// Neutron allows ten security groups, which is fewer than the Services of some tests.
	if err := c.admin.call(ctx, "PUT network/quotas/"+p.project, object{"quota": object{
		"security_group": -1, "security_group_rule": -1, "port": -1, "floatingip": -1,
	}}, nil); err != nil {
		return err
	}
	password, err := c.createUser(ctx, name, roles()...)
	if err != nil {
		return err
	}
	if c.tenant, err = login(ctx, c.admin.auth, name, password, name); err != nil {
		return err
	}
	if err := c.selectFixtures(ctx); err != nil {
		return err
	}
	return c.createNetwork(ctx, ipv6)
}

// createUser creates a user with roles in the project, and returns its password.
func (c *Cloud) createUser(ctx context.Context, name string, roles ...string) (password string, err error) {
	password = rand.Text()
	id, err := c.admin.create(ctx, "identity/users", "user",
		object{"name": name, "password": password, "domain_id": "default"})
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.users = append(c.users, id)
	c.mu.Unlock()
	cloudRoles, err := list[ref](ctx, c.admin, "identity/roles")
	if err != nil {
		return "", err
	}
	for _, role := range roles {
		i := slices.IndexFunc(cloudRoles, func(r ref) bool { return r.Name == role })
		if i < 0 {
			return "", fmt.Errorf("the cloud has no role %s", role)
		}
		grant := fmt.Sprintf("PUT identity/projects/%s/users/%s/roles/%s", c.places.project, id, cloudRoles[i].ID)
		if err := c.admin.call(ctx, grant, nil, nil); err != nil {
			return "", err
		}
	}
	return password, nil
}

// selectFixtures selects the flavor and the image of machines, and the network of floating IPs.
func (c *Cloud) selectFixtures(ctx context.Context) error {
	selectFirst := func(path string, id *string) func() error {
		return func() error {
			objects, err := list[ref](ctx, c.tenant, path)
			if err == nil && len(objects) == 0 {
				err = fmt.Errorf("the cloud has none of %s", path)
			}
			if err == nil {
				*id = objects[0].ID
			}
			return err
		}
	}
	return runParallel(
		selectFirst("compute/flavors", &c.places.flavor),
		selectFirst("image/images?visibility=public", &c.places.image),
		selectFirst("network/networks?router:external=true", &c.places.public),
	)
}

// The machines' subnets.
var (
	privateRange  = netip.MustParsePrefix("10.0.0.0/16")
	privateRange6 = netip.MustParsePrefix("2001:db8:a::/64")
)

// createNetwork creates the machines' network. Its subnet reserves addresses for next hops of foreign routes.
func (c *Cloud) createNetwork(ctx context.Context, ipv6 bool) (err error) {
	p := &c.places
	if p.network, err = c.tenant.create(ctx, "network/networks", "network", object{"name": "private"}); err != nil {
		return err
	}
	p.router, err = c.tenant.create(ctx, "network/routers", "router",
		object{"name": "router", "external_gateway_info": object{"network_id": p.public}})
	if err != nil {
		return err
	}
	p.subnet, err = c.connectSubnet(ctx, "private", privateRange,
		object{"allocation_pools": []object{{"start": "10.0.0.2", "end": "10.0.254.255"}}})
	if err != nil {
		return err
	}
	if ipv6 {
		slaac := object{"ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"}
		if _, err := c.connectSubnet(ctx, "private-v6", privateRange6, slaac); err != nil {
			return err
		}
	}
	// Neutron creates a project's default group at the first list.
	_, err = list[ref](ctx, c.tenant, "network/security-groups")
	return err
}

// connectSubnet adds a subnet to the machines' network, and connects it to the router.
func (c *Cloud) connectSubnet(
	ctx context.Context, name string, cidr netip.Prefix, options object,
) (id string, err error) {
	spec := object{"name": name, "network_id": c.places.network, "cidr": cidr.String(), "ip_version": 4}
	if cidr.Addr().Is6() {
		spec["ip_version"] = 6
	}
	maps.Copy(spec, options)
	if id, err = c.tenant.create(ctx, "network/subnets", "subnet", spec); err != nil {
		return "", err
	}
	return id, c.tenant.call(ctx, "PUT network/routers/"+c.places.router+"/add_router_interface",
		object{"subnet_id": id}, nil)
}

// Close removes the project and all of its objects.
func (c *Cloud) Close() error {
	ctx, cancel := withTimeout()
	defer cancel()
	var errs []error
	if c.tenant != nil {
		errs = append(errs, c.removeObjects(ctx))
	}
	// Users and project are deleted last: without them, errors of the services could not be investigated.
	for _, id := range c.users {
		errs = append(errs, c.admin.remove(ctx, "identity/users/"+id))
	}
	if c.places.project != "" {
		errs = append(errs, c.admin.remove(ctx, "identity/projects/"+c.places.project))
	}
	return errors.Join(errs...)
}

// removeObjects removes all objects of the project, dependents first.
func (c *Cloud) removeObjects(ctx context.Context) error {
	p := c.places
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	add(c.removeBalancers(ctx))
	add(c.removeCertificates(ctx))
	add(c.removeAll(ctx, "network/floatingips"))
	add(c.removeServers(ctx))
	if p.router != "" {
		add(c.tenant.call(ctx, "PUT network/routers/"+p.router, object{"router": object{"routes": []object{}}}, nil))
		add(c.disconnect(ctx))
		add(c.tenant.remove(ctx, "network/routers/"+p.router))
	}
	if p.network != "" {
		add(c.removeAll(ctx, "network/ports"))
		add(c.tenant.remove(ctx, "network/networks/"+p.network))
	}
	groups, err := list[ref](ctx, c.tenant, "network/security-groups")
	add(err)
	for _, g := range groups {
		// Only the administrator can remove the default one, together with the project.
		add(c.admin.remove(ctx, "network/security-groups/"+g.ID))
	}
	return errors.Join(errs...)
}

// disconnect removes the router's interfaces to all subnets.
func (c *Cloud) disconnect(ctx context.Context) error {
	subnets, err := list[ref](ctx, c.tenant, "network/subnets?network_id="+c.places.network)
	for _, s := range subnets {
		removed := c.tenant.call(ctx, "PUT network/routers/"+c.places.router+"/remove_router_interface",
			object{"subnet_id": s.ID}, nil)
		if !hasStatus(removed, http.StatusNotFound) { // It may not have been connected.
			err = errors.Join(err, removed)
		}
	}
	return err
}

// removeAll deletes all objects of a list.
func (c *Cloud) removeAll(ctx context.Context, path string) error {
	objects, err := list[ref](ctx, c.tenant, path)
	for _, o := range objects {
		err = errors.Join(err, c.tenant.remove(ctx, path+"/"+o.ID))
	}
	return err
}

// AccountWithoutLoadBalancers creates a user of the project without the roles that Octavia's policy requires, and
// returns its name and password.
func (c *Cloud) AccountWithoutLoadBalancers() (user, password string, err error) {
	ctx, cancel := withTimeout()
	defer cancel()
	user = c.tenant.user + "-restricted"
	password, err = c.createUser(ctx, user, "member")
	return user, password, err
}
