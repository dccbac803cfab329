package realservices

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

const (
	active        = "ACTIVE"
	pendingDelete = "PENDING_DELETE"
)

// server has the fields of Nova's servers that this package uses.
type server struct {
	ID, Name, Status string
	Zone             string `json:"OS-EXT-AZ:availability_zone"`
	Flavor           struct{ ID string }
}

// Launch implements world.World.
func (c *Cloud) Launch(m world.Machine) (*v1.Node, error) {
	ctx, cancel := withTimeout()
	defer cancel()
	var err error
	if id := c.takeSpare(); id != "" && m.Zone == "" {
		err = c.useSpare(ctx, id, m.Name)
	} else {
		err = c.boot(ctx, m)
	}
	if err != nil {
		return nil, fmt.Errorf("launching machine %s: %w", m.Name, err)
	}
	return m.Node(), nil
}

// newServerSpec returns the request for a server.
func (c *Cloud) newServerSpec(name string) object {
	return object{"name": name, "flavorRef": c.places.flavor, "imageRef": c.places.image,
		"networks": []object{{"uuid": c.places.network}}}
}

func (c *Cloud) boot(ctx context.Context, m world.Machine) error {
	spec := c.newServerSpec(m.Name)
	if m.Zone != "" {
		spec["availability_zone"] = m.Zone
	}
	id, err := c.tenant.create(ctx, "compute/servers", "server", spec)
	if err != nil {
		return err
	}
	return c.awaitServer(ctx, id, active)
}

// ref has the ID and the name of an object.
type ref struct{ ID, Name string }

// bootSpares boots servers without waiting until they run: useSpare does.
func (c *Cloud) bootSpares(ctx context.Context, n int) error {
	spec := c.newServerSpec("spare")
	spec["min_count"] = n
	if _, err := c.tenant.create(ctx, "compute/servers", "server", spec); err != nil {
		return err
	}
	all, err := list[ref](ctx, c.tenant, "compute/servers")
	for _, s := range all {
		c.spares = append(c.spares, s.ID)
	}
	return err
}

func (c *Cloud) takeSpare() (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.spares) > 0 {
		id, c.spares = c.spares[0], c.spares[1:]
	}
	return id
}

func (c *Cloud) isSpare(server string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.spares, server)
}

// useSpare renames a server to a machine. A manager identifies it by the name of its node only.
func (c *Cloud) useSpare(ctx context.Context, id, name string) error {
	if err := c.awaitServer(ctx, id, active); err != nil {
		return err
	}
	return c.tenant.call(ctx, "PUT compute/servers/"+id, object{"server": object{"name": name}}, nil)
}

func (c *Cloud) awaitServer(ctx context.Context, id, status string) error {
	return poll(ctx, "server "+id+" in state "+status, func() (bool, error) {
		var out struct{ Server server }
		err := c.tenant.call(ctx, "GET compute/servers/"+id, nil, &out)
		if err == nil && out.Server.Status == "ERROR" {
			err = fmt.Errorf("server %s is in state ERROR", id)
		}
		return out.Server.Status == status, err
	})
}

// server returns the server of a machine.
func (c *Cloud) server(ctx context.Context, name string) (server, error) {
	all, err := list[server](ctx, c.tenant, "compute/servers/detail?name=^"+name+"$")
	if err != nil {
		return server{}, err
	}
	if len(all) != 1 {
		return server{}, fmt.Errorf("%d servers are called %q", len(all), name)
	}
	return all[0], nil
}

// Machine implements world.World.
func (c *Cloud) Machine(nodeName string) (world.Machine, error) {
	ctx, cancel := withTimeout()
	defer cancel()
	s, err := c.server(ctx, nodeName)
	if err != nil {
		return world.Machine{}, err
	}
	var out struct{ Flavor ref }
	if err := c.tenant.call(ctx, "GET compute/flavors/"+s.Flavor.ID, nil, &out); err != nil {
		return world.Machine{}, err
	}
	return world.Machine{Name: s.Name, Zone: s.Zone, Type: out.Flavor.Name, Region: region}, nil
}

// Terminate implements world.World. The machine's port is deleted when it returns.
func (c *Cloud) Terminate(nodeName string) error {
	ctx, cancel := withTimeout()
	defer cancel()
	s, err := c.server(ctx, nodeName)
	if err != nil {
		return err
	}
	return c.removeServer(ctx, s.ID)
}

func (c *Cloud) removeServer(ctx context.Context, id string) error {
	if err := c.tenant.remove(ctx, "compute/servers/"+id); err != nil {
		return err
	}
	return poll(ctx, "the deletion of server "+id, func() (bool, error) {
		err := c.tenant.call(ctx, "GET compute/servers/"+id, nil, nil)
		if !hasStatus(err, http.StatusNotFound) {
			return false, err
		}
		ports, err := list[ref](ctx, c.tenant, "network/ports?device_id="+id)
		return len(ports) == 0, err
	})
}

// removeServers starts all deletions before it waits for any.
func (c *Cloud) removeServers(ctx context.Context) error {
	all, err := list[ref](ctx, c.tenant, "compute/servers")
	errs := []error{err}
	for _, s := range all {
		errs = append(errs, c.tenant.remove(ctx, "compute/servers/"+s.ID))
	}
	for _, s := range all {
		errs = append(errs, c.removeServer(ctx, s.ID))
	}
	return errors.Join(errs...)
}

// Stop implements world.World.
func (c *Cloud) Stop(nodeName string) error {
	ctx, cancel := withTimeout()
	defer cancel()
	s, err := c.server(ctx, nodeName)
	if err != nil {
		return err
	}
	if err := c.tenant.call(ctx, "POST compute/servers/"+s.ID+"/action", object{"os-stop": nil}, nil); err != nil {
		return err
	}
	return c.awaitServer(ctx, s.ID, "SHUTOFF")
}

// port has the fields of Neutron's ports that this package uses.
type port struct {
	ID, Name string
	DeviceID string `json:"device_id"`
	FixedIPs []struct {
		IPAddress string `json:"ip_address"`
	} `json:"fixed_ips"`
	Groups []string `json:"security_groups"`
	Pairs  []any    `json:"allowed_address_pairs"`
}

// nodeNames returns the names of servers by their addresses.
func (c *Cloud) nodeNames(ctx context.Context) (map[string]string, error) {
	servers, err := list[ref](ctx, c.tenant, "compute/servers")
	if err != nil {
		return nil, err
	}
	ports, err := list[port](ctx, c.tenant, "network/ports")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, p := range ports {
		i := slices.IndexFunc(servers, func(s ref) bool { return s.ID == p.DeviceID })
		if i < 0 {
			continue
		}
		for _, f := range p.FixedIPs {
			out[f.IPAddress] = servers[i].Name
		}
	}
	return out, nil
}

// failedRead returns the result of a failed read, so that a check fails with the error.
func failedRead(objects string, err error) string { return objects + " cannot be read: " + err.Error() }
