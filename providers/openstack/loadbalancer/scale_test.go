package loadbalancer

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// fleet are Services of two ports each.
func fleet(n int) []*v1.Service {
	var list []*v1.Service
	for i := range n {
		list = append(list, service(named(fmt.Sprintf("web-%03d", i))))
	}
	return list
}

// together runs work for all Services at once.
func together(services []*v1.Service, work func(*v1.Service)) {
	var group sync.WaitGroup
	for _, svc := range services {
		group.Go(func() { work(svc) })
	}
	group.Wait()
}

// wantCalls checks how many calls were created, and lists them if there were too many.
func (r *rig) wantCalls(what string, most int) {
	r.t.Helper()
	calls := r.calls()
	r.t.Logf("%s: %d calls, at most %d", what, len(calls), most)
	if len(calls) > most {
		count := map[string]int{}
		for _, c := range calls {
			count[c]++
		}
		r.t.Errorf("%s: %d calls, want at most %d: %v", what, len(calls), most, count)
	}
}

func (r *rig) wantTime(what string, began time.Time, most time.Duration) {
	r.t.Helper()
	took := time.Since(began)
	r.t.Logf("%s: %s, at most %s", what, took, most)
	if took > most {
		r.t.Errorf("%s took %s, want at most %s", what, took, most)
	}
}

// latency is what a call takes in the benchmark too.
const latency = 20 * time.Millisecond

// monitored runs a test without and with health monitors: what is asserted holds for both.
func monitored(t *testing.T, o sim.Options, test func(*rig)) {
	t.Helper()
	for name, on := range map[string]bool{"without health monitors": false, "with health monitors": true} {
		t.Run(name, func(t *testing.T) { bubble(t, o, Settings{CreateMonitor: on}, test) })
	}
}

func TestCallsOfSlowCreation(t *testing.T) {
	monitored(t, sim.Options{ProvisionTime: time.Minute, SettleTime: 3 * time.Second, Latency: latency}, func(r *rig) {
		began := time.Now()
		r.ensure(service())
		r.wantTime("create", began, 62500*time.Millisecond)
		r.wantCalls("create", 31)
		r.sim.Front().Log().Reset()
		r.ensure(service())
		r.wantCalls("the sync that our own annotations cause", 0)
	})
}

func TestCallsOfFastCreation(t *testing.T) {
	monitored(t, sim.Options{ProvisionTime: 200 * time.Millisecond, SettleTime: 200 * time.Millisecond, Latency: latency}, func(r *rig) {
		began := time.Now()
		r.ensure(service())
		r.wantTime("create", began, 500*time.Millisecond)
		r.wantCalls("create", 7)
	})
}

func TestCallsOfConcurrentCreations(t *testing.T) {
	monitored(t, sim.Options{ProvisionTime: time.Minute, SettleTime: 3 * time.Second, Latency: latency}, func(r *rig) {
		services := fleet(20)
		began := time.Now()
		together(services, func(svc *v1.Service) { r.ensure(svc) })
		r.wantTime("20 creations", began, 65*time.Second)
		// A creation, a floating IP and its tag of each, and what is waited with.
		r.wantCalls("20 creations", 20*3+30)
		r.sim.Front().Log().Reset()
		together(services, func(svc *v1.Service) { r.ensure(svc) })
		r.wantCalls("the syncs that our own annotations cause", 0)
	})
}

// restartWith makes all Services' load balancers, and checks what a manager calls then that knows
// nothing: at most so much, and no change.
func (r *rig) restartWith(services []*v1.Service, most int) {
	r.t.Helper()
	together(services, func(svc *v1.Service) { r.ensure(svc) })
	r.restart()
	together(services, func(svc *v1.Service) { r.ensure(svc) })
	r.wantCalls("restart", most)
	if m := r.mutations(); len(m) > 0 {
		r.t.Errorf("a restart changed something: %v", m)
	}
}

func TestCallsOfRestart(t *testing.T) {
	bubble(t, sim.Options{Latency: latency}, Settings{}, func(r *rig) {
		r.restartWith(fleet(100), 220)
	})
}

// Once Services remember what their members are, a restart costs a few lists.
func TestCallsOfRestartWithMemberChecksums(t *testing.T) {
	bubble(t, sim.Options{Latency: latency}, Settings{}, func(r *rig) {
		services := fleet(100)
		note := func() {
			r.manager.SetRuntime(provider.Runtime{Recorder: r.recorder, ClusterUID: r.uid, Annotate: func(_ context.Context, s *v1.Service, a map[string]string) error {
				maps.Copy(s.Annotations, a)
				return nil
			}})
		}
		note()
		r.restartWith(services, 20)

		// Another member by hand, and a node that joined meanwhile, are noticed all the same.
		pool := r.pool(80)
		if _, err := r.api.CreateMember(r.t.Context(), pool.ID, api.Member{Address: "10.0.9.9", Port: 30080}); err != nil {
			t.Fatal(err)
		}
		r.restart()
		together(services, func(svc *v1.Service) { r.ensure(svc) })
		if m := r.mutations(); len(m) != 1 {
			t.Errorf("changes %v, want one of the members that were changed by hand", m)
		}
		r.launch("another")
		r.restart()
		together(services, func(svc *v1.Service) { r.update(svc) })
		if m := r.mutations(); len(m) != 200 {
			t.Errorf("%d changes, want one of each of 200 pools", len(m))
		}
		if m := r.membersAt(80); len(m) != 4 {
			t.Errorf("members %+v", m)
		}
	})
}

func TestCallsOfNodeJoin(t *testing.T) {
	for _, c := range []struct {
		name     string
		services int
		// later is how long after the load balancers were created, and spread over how long the controller's
		// workers come to them.
		later, spread time.Duration
	}{
		{"soon after", 50, time.Minute, 0},
		{"when all lists are too old", 50, time.Hour, 0},
		{"workers that come one after the other", 50, time.Hour, time.Second},
		{"200 Services", 200, time.Hour, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			monitored(t, sim.Options{SettleTime: 3 * time.Second, Latency: latency}, func(r *rig) {
				services := fleet(c.services)
				together(services, func(svc *v1.Service) { r.ensure(svc) })
				r.sleep(c.later)
				for _, svc := range services {
					r.ensure(svc) // as the audit has, so that members are known
				}
				r.sleep(min(c.later, observe.ListAge))
				r.launch("another")
				r.sim.Front().Log().Reset()
				began := time.Now()
				var group sync.WaitGroup
				for i, svc := range services {
					group.Go(func() {
						r.sleep(c.spread * time.Duration(i) / time.Duration(len(services)))
						r.update(svc)
					})
				}
				group.Wait()
				r.wantTime("one node joins", began, 10*time.Second)
				r.wantCalls("one node joins", 2*c.services+20)
				if n := len(r.mutations()); n != 2*c.services {
					t.Errorf("%d updates, want %d", n, 2*c.services)
				}
			})
		})
	}
}

func TestSlowLoadBalancersDoNotBlockOthers(t *testing.T) {
	bubble(t, sim.Options{ProvisionTime: 10 * time.Second, SettleTime: time.Second, Latency: latency}, Settings{}, func(r *rig) {
		r.sim.SetOutcomes(sim.OutcomeRule{Operation: "CreateLoadBalancer", Outcome: sim.OutcomeStuck})
		ctx, cancel := contextWithTimeout(r.t, time.Minute)
		defer cancel()
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := r.manager.EnsureLoadBalancer(ctx, r.cluster, service(named("stuck")), r.nodes); err == nil {
				t.Error("a load balancer that stays PENDING was ready")
			}
		})
		r.sleep(time.Second)
		began := time.Now()
		r.ensure(service(named("quick")))
		r.wantTime("beside a stuck one", began, 13*time.Second)
		group.Wait()
		r.sim.Unstick()
		r.remove(service(named("stuck")))
	})
}

// Managed security groups cost what they are: a group, its rules, and a port of each node.
func TestCallsWithSecurityGroups(t *testing.T) {
	const nodes = 3
	settings := Settings{ManageSecurityGroups: true}
	t.Run("a creation that settles at once", func(t *testing.T) {
		bubble(t, sim.Options{ProvisionTime: 200 * time.Millisecond, SettleTime: 200 * time.Millisecond, Latency: latency}, settings, func(r *rig) {
			began := time.Now()
			r.ensure(service())
			r.wantTime("create", began, 500*time.Millisecond)
			// Beside the group: the lists of groups, of subnets and of the nodes' ports.
			r.wantCalls("create", 7+2+nodes+4)
		})
	})
	t.Run("twenty creations", func(t *testing.T) {
		bubble(t, sim.Options{ProvisionTime: time.Minute, SettleTime: 3 * time.Second, Latency: latency}, settings, func(r *rig) {
			services := fleet(20)
			began := time.Now()
			together(services, func(svc *v1.Service) { r.ensure(svc) })
			r.wantTime("20 creations", began, 65*time.Second)
			r.wantCalls("20 creations", 200+20*(2+nodes))
		})
	})
	t.Run("a restart", func(t *testing.T) {
		bubble(t, sim.Options{Latency: latency}, settings, func(r *rig) {
			r.restartWith(fleet(100), 220)
		})
	})
	t.Run("a node that joins", func(t *testing.T) {
		bubble(t, sim.Options{SettleTime: 3 * time.Second, Latency: latency}, settings, func(r *rig) {
			services := fleet(50)
			together(services, func(svc *v1.Service) { r.ensure(svc) })
			r.sleep(time.Minute)
			r.launch("another")
			r.sim.Front().Log().Reset()
			began := time.Now()
			together(services, func(svc *v1.Service) { r.update(svc) })
			r.wantTime("one node joins", began, 10*time.Second)
			// One change of each pool, and one of the node's port for each group.
			r.wantCalls("one node joins", 100+50+20)
		})
	})
}
