package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// TestRandomOperationsKeepInvariants runs random operations, valid and invalid, and checks after
// each that the world is consistent, and that a refused operation has changed nothing.
func TestRandomOperationsKeepInvariants(t *testing.T) {
	done := map[string]int{}
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			clock := fakeClock()
			c := newCloud(t, Options{Clock: clock, ProvisionTime: 3 * time.Second,
				Quotas: map[string]int{quotaInstances: 6, quotaRoutes: 5}})
			m := &model{Rand: rand.New(rand.NewPCG(seed, 0))}
			before := dump(t, c)
			for step := range 1200 {
				clock.Step(time.Second)
				name, op := m.next()
				err := c.update(op)
				after := dump(t, c)
				if err == nil {
					done[name]++
				} else if after != before {
					t.Fatalf("step %d: %s was refused (%v) and changed the world", step, name, err)
				}
				before = after
				if err := c.Check(); err != nil {
					t.Fatalf("step %d, after %s: %v", step, name, err)
				}
			}
		})
	}
	for _, name := range (*model)(nil).names() {
		if done[name] < 5 {
			t.Errorf("%s succeeded %d times: the test hardly tests it", name, done[name])
		}
	}
}

func dump(t *testing.T, c *Cloud) (out string) {
	t.Helper()
	err := c.view(func(s *tx) error {
		content, err := json.Marshal(s.state)
		out = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// model draws operations over few names, so that they meet.
type model struct{ *rand.Rand }

func (m *model) one(words ...string) string { return words[m.IntN(len(words))] }
func (m *model) id(prefix string) string    { return fmt.Sprintf("%s-%08d", prefix, 1+m.IntN(60)) }

// existing draws the ID of something that exists, nearly always.
func existing[V any](m *model, all map[string]V, prefix string) string {
	if len(all) == 0 || m.IntN(20) == 0 {
		return m.id(prefix)
	}
	n := m.IntN(len(all))
	for _, id := range sortedKeys(all) {
		if n == 0 {
			return id
		}
		n--
	}
	return ""
}

func (m *model) members(t *tx) []api.Member {
	var out []api.Member
	for range m.IntN(4) {
		out = append(out, api.Member{InstanceID: existing(m, t.Instances, "i"), Port: int32(30000 + m.IntN(2))})
	}
	return out
}

func (m *model) names() []string {
	return []string{
		"launch", "terminate", "stop", "allocate", "release", "create lb", "create internal lb", "update lb",
		"delete lb", "create pool", "update pool", "set members", "delete pool", "create listener", "update listener",
		"delete listener", "create route", "delete route", "drift",
	}
}

func (m *model) next() (string, func(*tx) error) {
	name := m.one(m.names()...)
	if strings.HasPrefix(name, "delete") && m.IntN(3) > 0 || name == "delete lb" && m.IntN(3) > 0 {
		name = m.one("create pool", "create listener", "update listener") // let something grow before it is deleted
	}
	for _, ops := range []func(string) func(*tx) error{m.machines, m.balancers, m.children} {
		if op := ops(name); op != nil {
			return name, op
		}
	}
	return name, m.routes(name)
}

func (m *model) machines(name string) func(*tx) error {
	switch name {
	case "launch":
		return func(t *tx) error {
			specs := make([]api.InstanceSpec, 1+m.IntN(2))
			for i := range specs {
				specs[i] = api.InstanceSpec{Name: m.one("a", "b", "c", "d", "e", "f", "g", "Bad"),
					ID: m.one("", "", "i-00000030", "own")}
			}
			_, err := t.launch(specs)
			return err
		}
	case "terminate":
		return func(t *tx) error { return t.terminate(existing(m, t.Instances, "i")) }
	case "stop":
		return func(t *tx) error {
			_, err := t.setInstanceState(existing(m, t.Instances, "i"), m.one(api.StateRunning, api.StateStopped, "odd"))
			return err
		}
	case "allocate":
		return func(t *tx) error {
			_, err := t.allocateAddress(api.AddressSpec{
				Name: m.one("a", "b", "c", "d", "e", ""), Family: m.one(familyIPv4, familyIPv4, familyIPv6, "odd"), IP: m.one("",
					"", "", "198.51.100.3", "192.0.2.1"),
			})
			return err
		}
	case "release":
		return func(t *tx) error { return t.releaseAddress(existing(m, t.Addresses, "addr")) }
	}
	return nil
}

func (m *model) balancers(name string) func(*tx) error {
	ids := func(t *tx) []string {
		out := make([]string, m.IntN(10)/4)
		for i := range out {
			out[i] = existing(m, t.Addresses, "addr")
		}
		return out
	}
	switch name {
	case "create lb":
		return func(t *tx) error {
			_, err := t.createLoadBalancer(api.LoadBalancerSpec{Name: m.one("a", "b", "c"), Scheme: schemePublic,
				AddressIDs: ids(t)})
			return err
		}
	case "create internal lb":
		return func(t *tx) error {
			_, err := t.createLoadBalancer(api.LoadBalancerSpec{
				Name: m.one("a", "b", "c"), Scheme: m.one(schemeInternal, "odd"), Families: []string{familyIPv6,
					familyIPv4}[m.IntN(2):],
			})
			return err
		}
	case "update lb":
		return func(t *tx) error {
			a := ids(t)
			_, err := t.updateLoadBalancer(existing(m, t.LoadBalancers, "lb"), api.LoadBalancerPatch{
				AddressIDs: &a, Subnets: &[]string{m.one("s", "")}, Tags: &map[string]string{"k": m.one("v", "w")},
			})
			return err
		}
	case "delete lb":
		return func(t *tx) error { return t.deleteLoadBalancer(existing(m, t.LoadBalancers, "lb")) }
	case "drift":
		return func(t *tx) error {
			lb, err := t.loadBalancer(existing(m, t.LoadBalancers, "lb"))
			if err != nil || len(lb.Listeners) == 0 {
				return notFound("listener", "")
			}
			lb.drift()
			t.markChanged()
			return nil
		}
	}
	return nil
}

func (m *model) children(name string) func(*tx) error {
	lb := func(t *tx) string { return existing(m, t.LoadBalancers, "lb") }
	child := m.one("p", "q", "r")
	switch name {
	case "create pool":
		return func(t *tx) error {
			p := tcpPool(child, m.members(t)...)
			p.Protocol = m.one(protocolTCP, protocolTCP, protocolTCP, protocolUDP, "odd")
			_, err := t.createPool(lb(t), p)
			return err
		}
	case "update pool":
		return func(t *tx) error {
			version := m.IntN(4)
			_, err := t.updatePool(lb(t), child, api.PoolPatch{ProxyProtocol: &version})
			return err
		}
	case "set members":
		return func(t *tx) error {
			_, err := t.setMembers(lb(t), child, m.members(t))
			return err
		}
	case "delete pool":
		return func(t *tx) error { return t.deletePool(lb(t), child) }
	case "create listener":
		return func(t *tx) error {
			_, err := t.createListener(lb(t), api.Listener{
				Name: child, Protocol: m.one(protocolTCP, protocolTCP, protocolUDP), Port: int32(m.IntN(3)), Pool: m.one("p", "q",
					"r"),
			})
			return err
		}
	case "update listener":
		return func(t *tx) error {
			pool := m.one("p", "q", "r")
			_, err := t.updateListener(lb(t), child, api.ListenerPatch{Pool: &pool,
				SourceRanges: &[]string{m.one("10.0.0.0/8", "10.0.0.1/8")}})
			return err
		}
	case "delete listener":
		return func(t *tx) error { return t.deleteListener(lb(t), child) }
	}
	return nil
}

func (m *model) routes(name string) func(*tx) error {
	r := api.Route{Name: "r", Cluster: m.one("c", "d", ""),
		Destination: fmt.Sprintf("10.%d.0.0/%d", m.IntN(4), 15+m.IntN(2))}
	if name == "delete route" {
		return func(t *tx) error { return t.deleteRoute(r) }
	}
	return func(t *tx) error {
		r.InstanceID = existing(m, t.Instances, "i")
		return t.createRoute(r)
	}
}
