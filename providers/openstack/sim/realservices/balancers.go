package realservices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// balancer, listener, member and monitor have the fields of Octavia's objects that this package uses.
type balancer struct {
	ID, Name   string
	Status     string `json:"provisioning_status"`
	VIP        string `json:"vip_address"`
	VIPPort    string `json:"vip_port_id"`
	Additional []struct {
		Address string `json:"ip_address"`
	} `json:"additional_vips"`
}

type listener struct {
	ID, Protocol  string
	Port          int32    `json:"protocol_port"`
	CIDRs         []string `json:"allowed_cidrs"`
	Pool          string   `json:"default_pool_id"`
	Status        string   `json:"provisioning_status"`
	LoadBalancers []ref    `json:"loadbalancers"`
	// Headers has "true" for each header that the listener inserts, as a text or a boolean.
	Headers map[string]any `json:"insert_headers"`
}

type member struct {
	ID, Address string
	Port        int32  `json:"protocol_port"`
	Status      string `json:"provisioning_status"`
}

type monitor struct {
	ID    string
	Delay int
}

type floatingIP struct {
	Address string `json:"floating_ip_address"`
	PortID  string `json:"port_id"`
}

// LoadBalancers implements world.World. It omits load balancers in PENDING_DELETE.
func (c *Cloud) LoadBalancers() []world.LoadBalancer {
	ctx, cancel := withTimeout()
	defer cancel()
	out, err := c.loadBalancers(ctx)
	if err != nil {
		return []world.LoadBalancer{{Name: failedRead("load balancers", err)}}
	}
	return out
}

func (c *Cloud) loadBalancers(ctx context.Context) ([]world.LoadBalancer, error) {
	var (
		balancers []balancer
		listeners []listener
		addresses []floatingIP
		names     map[string]string
	)
	err := runParallel(
		listInto(ctx, c.tenant, "load-balancer/lbaas/loadbalancers", &balancers),
		listInto(ctx, c.tenant, "load-balancer/lbaas/listeners", &listeners),
		listInto(ctx, c.tenant, "network/floatingips", &addresses),
		func() (err error) { names, err = c.nodeNames(ctx); return err },
	)
	if err != nil {
		return nil, err
	}
	var out []world.LoadBalancer
	for _, b := range balancers {
		if b.Status == pendingDelete {
			continue
		}
		lb := b.toWorld(addresses)
		for _, l := range listeners {
			if l.Status == pendingDelete || !slices.ContainsFunc(l.LoadBalancers, func(n ref) bool { return n.ID == b.ID }) {
				continue
			}
			converted, err := c.listener(ctx, l, names)
			if err != nil {
				return nil, err
			}
			lb.Listeners = append(lb.Listeners, converted)
		}
		out = append(out, lb)
	}
	world.SortLoadBalancers(out)
	return out, nil
}

// toWorld converts a load balancer. It is internal if its VIP port has no floating IP.
func (b balancer) toWorld(addresses []floatingIP) world.LoadBalancer {
	out := world.LoadBalancer{Name: b.Name, Internal: true, Addresses: []string{b.VIP}}
	for _, f := range addresses {
		if f.PortID == b.VIPPort {
			out.Internal, out.Addresses[0] = false, f.Address
		}
	}
	for _, a := range b.Additional {
		out.Addresses = append(out.Addresses, a.Address)
	}
	return out
}

// listener converts a listener, and reads the members of its pool.
func (c *Cloud) listener(ctx context.Context, l listener, names map[string]string) (world.Listener, error) {
	out := world.Listener{
		Protocol: transportOf(l.Protocol), Port: l.Port, SourceRanges: l.CIDRs,
		TLS: l.Protocol == "TERMINATED_HTTPS", ForwardedHeaders: fmt.Sprint(l.Headers["X-Forwarded-For"]) == "true",
	}
	if l.Pool == "" {
		return out, nil
	}
	members, err := list[member](ctx, c.tenant, "load-balancer/lbaas/pools/"+l.Pool+"/members")
	if err != nil && !hasStatus(err, http.StatusNotFound) { // It may have been deleted since the listener was read.
		return out, err
	}
	for _, m := range members {
		if m.Status != pendingDelete {
			out.Members, out.MemberPort = append(out.Members, cmp.Or(names[m.Address], m.Address)), m.Port
		}
	}
	return out, nil
}

// transportOf returns the protocol of the Service port of a listener.
func transportOf(protocol string) v1.Protocol {
	if strings.EqualFold(protocol, "UDP") || strings.EqualFold(protocol, "SCTP") {
		return v1.Protocol(protocol)
	}
	return v1.ProtocolTCP
}

// balancerByName finds a load balancer.
func (c *Cloud) balancerByName(ctx context.Context, name string) (balancer, error) {
	all, err := list[balancer](ctx, c.tenant, "load-balancer/lbaas/loadbalancers")
	if err != nil {
		return balancer{}, err
	}
	i := slices.IndexFunc(all, func(b balancer) bool { return b.Name == name })
	if i < 0 {
		return balancer{}, fmt.Errorf("load balancer %q does not exist", name)
	}
	return all[i], nil
}

// DeleteLoadBalancer implements world.World: floating IPs and security groups stay.
func (c *Cloud) DeleteLoadBalancer(name string) error {
	ctx, cancel := withTimeout()
	defer cancel()
	b, err := c.balancerByName(ctx, name)
	if err != nil {
		return err
	}
	return c.removeBalancer(ctx, b.ID)
}

// removeBalancer deletes a load balancer, once it is not in a PENDING state, and waits until it is deleted.
func (c *Cloud) removeBalancer(ctx context.Context, id string) error {
	return poll(ctx, "the deletion of load balancer "+id, func() (bool, error) {
		err := c.tenant.call(ctx, "DELETE load-balancer/lbaas/loadbalancers/"+id+"?cascade=true", nil, nil)
		if hasStatus(err, http.StatusNotFound) {
			return true, nil
		}
		if hasStatus(err, http.StatusConflict) {
			return false, nil
		}
		return false, err
	})
}

func (c *Cloud) removeBalancers(ctx context.Context) error {
	all, err := list[balancer](ctx, c.tenant, "load-balancer/lbaas/loadbalancers")
	errs := []error{err}
	for _, b := range all {
		errs = append(errs, c.removeBalancer(ctx, b.ID))
	}
	return errors.Join(errs...)
}

// Drift implements world.World. It changes the connection limit of the first listener, and of its pool removes the
// first member and changes the interval of its health monitor, if there is one. The fields are named as in Octavia's
// API.
func (c *Cloud) Drift(name string) (fields []string, err error) {
	ctx, cancel := withTimeout()
	defer cancel()
	b, err := c.balancerByName(ctx, name)
	if err != nil {
		return nil, err
	}
	listeners, err := list[listener](ctx, c.tenant, "load-balancer/lbaas/listeners?loadbalancer_id="+b.ID)
	if err != nil {
		return nil, err
	}
	if len(listeners) == 0 {
		return nil, fmt.Errorf("load balancer %q has no listener to change", name)
	}
	l := listeners[0]
	change := func(field, request string, body any) {
		if err == nil {
			fields, err = append(fields, field), c.change(ctx, b.ID, request, body)
		}
	}
	change("connection_limit", "PUT load-balancer/lbaas/listeners/"+l.ID,
		object{"listener": object{"connection_limit": 7}})
	if l.Pool == "" || err != nil {
		return fields, err
	}
	members, err := list[member](ctx, c.tenant, "load-balancer/lbaas/pools/"+l.Pool+"/members")
	if len(members) > 0 {
		change("members", "DELETE load-balancer/lbaas/pools/"+l.Pool+"/members/"+members[0].ID, nil)
	}
	monitors, listErr := list[monitor](ctx, c.tenant, "load-balancer/lbaas/healthmonitors?pool_id="+l.Pool)
	err = errors.Join(err, listErr)
	if len(monitors) > 0 {
		change("delay", "PUT load-balancer/lbaas/healthmonitors/"+monitors[0].ID,
			object{"healthmonitor": object{"delay": monitors[0].Delay + 7}})
	}
	return fields, err
}

// change changes a part of a load balancer, and waits until the load balancer is ACTIVE.
func (c *Cloud) change(ctx context.Context, balancerID, request string, body any) error {
	if err := c.tenant.call(ctx, request, body, nil); err != nil {
		return err
	}
	return poll(ctx, "load balancer "+balancerID+" to become ACTIVE", func() (bool, error) {
		var out struct{ LoadBalancer balancer }
		err := c.tenant.call(ctx, "GET load-balancer/lbaas/loadbalancers/"+balancerID, nil, &out)
		return out.LoadBalancer.Status == active, err
	})
}
