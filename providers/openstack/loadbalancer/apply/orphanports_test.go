package apply

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// portCloud is what ports and load balancers look like while others work in the same project.
type portCloud struct {
	API
	mu        sync.Mutex
	ports     map[string]api.Port
	balancers map[string]error
	fips      []api.FloatingIP
	failure   error
}

func (c *portCloud) ListPorts(_ context.Context, f api.PortFilter) ([]api.Port, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil {
		return nil, c.failure
	}
	return slices.DeleteFunc(slices.Collect(maps.Values(c.ports)), func(p api.Port) bool { return f.DeviceOwner != "" && p.DeviceOwner != f.DeviceOwner }), nil
}

func (c *portCloud) GetPort(_ context.Context, id string) (api.Port, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.ports[id]
	if !ok {
		return p, &cloudapi.Error{Class: cloudapi.NotFound, Err: errors.New("no port")}
	}
	return p, c.failure
}

func (c *portCloud) GetLoadBalancer(_ context.Context, id string) (api.LoadBalancer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err, known := c.balancers[id]
	if !known {
		err = &cloudapi.Error{Class: cloudapi.NotFound, Err: errors.New("no load balancer")}
	}
	return api.LoadBalancer{ID: id}, err
}

func (c *portCloud) ListFloatingIPs(_ context.Context, port string) ([]api.FloatingIP, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.fips), func(one api.FloatingIP) bool { return one.PortID != port }), nil
}

func (c *portCloud) DeletePort(_ context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ports, id)
	return nil
}

// left returns the IDs of the ports.
func (c *portCloud) left() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.ports))
}

// change is what happens in the cloud from elsewhere.
func (c *portCloud) change(f func(*portCloud)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

// come is Octavia making the port of a load balancer.
func (c *portCloud) come(id string, change ...func(*api.Port)) {
	p := api.Port{ID: id, Name: "octavia-lb-" + id, DeviceID: "lb-" + id, DeviceOwner: "Octavia", Status: "DOWN", CreatedAt: time.Now().UTC().Format(time.RFC3339), FixedIPs: []api.FixedIP{{SubnetID: "here", Address: "10.0.0.9"}}}
	for _, f := range change {
		f(&p)
	}
	c.ports[id] = p
}

// Only ports that a refused creation of ours has left are deleted. Every other case is a port that another client uses,
// or may use.
func TestDeleteOrphanPorts(t *testing.T) {
	for _, tt := range []struct {
		name string
		// before, while, after and later change the cloud before the creation, while it runs, after it
		// was refused, and just before the port is decided upon.
		before, while, after, later func(*portCloud)
		left                        []string
	}{
		{name: "what our creation left behind goes", while: func(c *portCloud) { c.come("ours") }},
		{name: "a creation that leaves nothing", while: func(*portCloud) {}},
		{name: "a port that was there before", before: func(c *portCloud) { c.come("old") }, while: func(c *portCloud) { c.come("ours") }, left: []string{"old"}},
		{name: "a port that came after", while: func(c *portCloud) { c.come("ours") }, after: func(c *portCloud) { c.come("new") }, left: []string{"new"}},
		{name: "a slow creation of another cluster", while: func(c *portCloud) { c.come("theirs") },
			later: func(c *portCloud) { c.balancers["theirs"] = nil }, left: []string{"theirs"}},
		{name: "a slow creation of another cluster beside ours", while: func(c *portCloud) { c.come("ours"); c.come("theirs") },
			later: func(c *portCloud) { c.balancers["theirs"] = nil }, left: []string{"theirs"}},
		{name: "a creation of another cluster that was refused too", while: func(c *portCloud) { c.come("ours"); c.come("theirs") }, left: []string{"ours", "theirs"}},
		{name: "another project's load balancer", while: func(c *portCloud) { c.come("theirs") },
			later: func(c *portCloud) {
				c.balancers["theirs"] = &cloudapi.Error{Class: cloudapi.Denied, Err: errors.New("policy")}
			}, left: []string{"theirs"}},
		{name: "existence of the load balancer unknown", while: func(c *portCloud) { c.come("ours") },
			later: func(c *portCloud) {
				c.balancers["ours"] = &cloudapi.Error{Class: cloudapi.Unavailable, Err: errors.New("down")}
			}, left: []string{"ours"}},
		{name: "ports unknown", while: func(c *portCloud) { c.come("ours"); c.failure = errors.New("down") },
			after: func(c *portCloud) { c.failure = nil }, left: []string{"ours"}},
		{name: "creation time of the port unknown", while: func(c *portCloud) { c.come("ours", func(p *api.Port) { p.CreatedAt = "" }) }, left: []string{"ours"}},
		{name: "a port that is not Octavia's", while: func(c *portCloud) { c.come("a", func(p *api.Port) { p.DeviceOwner = "compute:nova" }) }, left: []string{"a"}},
		{name: "a port of another name", while: func(c *portCloud) { c.come("a", func(p *api.Port) { p.Name = "mine" }) }, left: []string{"a"}},
		{name: "a port that a device uses", while: func(c *portCloud) { c.come("a", func(p *api.Port) { p.DeviceID = "server" }) }, left: []string{"a"}},
		{name: "a port in another subnet", while: func(c *portCloud) { c.come("a", func(p *api.Port) { p.FixedIPs[0].SubnetID = "there" }) }, left: []string{"a"}},
		{name: "a port of another address", while: func(c *portCloud) { c.come("a", func(p *api.Port) { p.FixedIPs[0].Address = "10.0.0.8" }) }, left: []string{"a"}},
		{name: "a port that came into use", while: func(c *portCloud) { c.come("ours") },
			later: func(c *portCloud) { c.come("ours", func(p *api.Port) { p.Status = api.PortActive }) }, left: []string{"ours"}},
		{name: "a port that a user renamed", while: func(c *portCloud) { c.come("ours") },
			later: func(c *portCloud) { c.come("ours", func(p *api.Port) { p.Name = "kept" }) }, left: []string{"ours"}},
		{name: "a port with a floating IP", while: func(c *portCloud) { c.come("ours") },
			later: func(c *portCloud) { c.fips = make([]api.FloatingIP, 1); c.fips[0].PortID = "ours" }, left: []string{"ours"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := &portCloud{ports: map[string]api.Port{}, balancers: map[string]error{}}
				step := func(f func(*portCloud)) {
					if f != nil {
						cloud.change(f)
					}
				}
				s := &orphanPorts{api: cloud, clock: clock.RealClock{}}
				step(tt.before)
				time.Sleep(time.Minute)
				began := time.Now()
				step(tt.while)
				time.Sleep(10 * time.Second)
				s.recordRefusal(t.Context(), loadbalancers.CreateOpts{VipSubnetID: "here", VipAddress: "10.0.0.9"}, began)
				time.Sleep(10 * time.Second)
				step(tt.after)
				came := len(cloud.left())
				time.Sleep(RefusalAge - 11*time.Second)
				if len(cloud.left()) != came {
					t.Error("a port went while a creation could still be under way")
				}
				step(tt.later)
				time.Sleep(2 * time.Second)
				if left := cloud.left(); !slices.Equal(left, tt.left) {
					t.Errorf("left %q, want %q", left, tt.left)
				}
			})
		})
	}
}

func refusalsOf(s *orphanPorts) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.refusals)
}

// Several creations that are refused at once leave as many ports, all of which go.
func TestDeleteOrphanPortsOfConcurrentCreations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := &portCloud{ports: map[string]api.Port{}, balancers: map[string]error{}}
		s := &orphanPorts{api: cloud, clock: clock.RealClock{}}
		spec := loadbalancers.CreateOpts{VipSubnetID: "here"}
		began := time.Now()
		cloud.change(func(c *portCloud) { c.come("a") })
		cloud.change(func(c *portCloud) { c.come("b") })
		s.recordRefusal(t.Context(), spec, began)
		s.recordRefusal(t.Context(), spec, began)
		time.Sleep(RefusalAge + time.Second)
		if len(cloud.left()) != 0 {
			t.Errorf("left %v", cloud.left())
		}
		if time.Sleep(3 * RefusalAge); refusalsOf(s) != 2 {
			t.Errorf("%d refusals are remembered before the next one", refusalsOf(s))
		}
		cloud.change(func(c *portCloud) { c.come("old") })
		time.Sleep(time.Minute)
		cloud.change(func(c *portCloud) { c.come("c") })
		s.recordRefusal(t.Context(), spec, time.Now())
		time.Sleep(RefusalAge + time.Second)
		if refusalsOf(s) != 1 || len(cloud.left()) != 1 {
			t.Errorf("%d refusals are remembered, and %d ports left", refusalsOf(s), len(cloud.left()))
		}
	})
}

// A port of the user's own that a refused creation named stays, and is not even looked for.
func TestKeepPortThatTheUserNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := &portCloud{ports: map[string]api.Port{}, balancers: map[string]error{}}
		s := &orphanPorts{api: cloud, clock: clock.RealClock{}}
		cloud.change(func(c *portCloud) { c.come("other") })
		s.recordRefusal(t.Context(), loadbalancers.CreateOpts{VipPortID: "mine"}, time.Now())
		time.Sleep(2 * RefusalAge)
		if len(cloud.left()) != 1 {
			t.Error("a port was deleted although the creation named one of the user's")
		}
	})
}
