package loadbalancer

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// Octavia's answer to a creation names no health monitor. They are there all the same, and what is to be
// changed of them is read before.
func TestHealthMonitorsAfterCreation(t *testing.T) {
	quick := sim.Options{ProvisionTime: 200 * time.Millisecond, SettleTime: 200 * time.Millisecond, Latency: latency}
	for _, tt := range []struct {
		name    string
		options sim.Options
		// then is what happens right after the creation; later how long after.
		then  func(*rig, *v1.Service)
		later time.Duration
		// mutations are those of the second sync.
		mutations []string
		delay     int
	}{
		{name: "nothing changes", options: quick, delay: 5},
		{name: "a change within the same second", options: quick,
			then:      func(_ *rig, svc *v1.Service) { annotate("health-monitor-delay", "11")(svc) },
			mutations: []string{"UpdateHealthMonitor", "UpdateHealthMonitor"}, delay: 11},
		{name: "none are wanted any more within the same second", options: quick,
			then:      func(_ *rig, svc *v1.Service) { annotate("enable-health-monitor", "false")(svc) },
			mutations: []string{"DeleteHealthMonitor", "DeleteHealthMonitor"}},
		{name: "another tool deletes one", options: quick, later: observe.ListAge + time.Second, delay: 5,
			then: func(r *rig, _ *v1.Service) {
				if err := r.api.DeleteHealthMonitor(r.t.Context(), r.pool(80).MonitorID); err != nil {
					r.t.Fatal(err)
				}
			}, mutations: []string{"CreateHealthMonitor"}},
		{name: "another tool changes one", options: quick, later: observe.ListAge + time.Second, delay: 5,
			then: func(r *rig, svc *v1.Service) {
				// By another manager, which knows nothing of what this one takes to be there.
				other := newRigBeside(r)
				changed := svc.DeepCopy()
				annotate("health-monitor-delay", "17")(changed)
				other.ensure(changed)
			}, mutations: []string{"UpdateHealthMonitor", "UpdateHealthMonitor"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, tt.options, Settings{CreateMonitor: true}, func(r *rig) {
				// With lists that are there and not new, the Service itself is read, less than a second before.
				r.ensure(service(named("earlier")))
				r.remove(service(named("earlier")))
				r.sleep(observe.ListAge / 2)
				svc := service()
				r.ensure(svc)
				if tt.then != nil {
					tt.then(r, svc)
				}
				r.sleep(tt.later)
				r.sim.Front().Log().Reset()
				r.ensure(svc)
				if m := r.mutations(); !slices.Equal(m, tt.mutations) {
					t.Errorf("changes %v, want %v", m, tt.mutations)
				}
				monitor := r.monitor(80)
				switch {
				case tt.delay == 0 && monitor != nil:
					t.Errorf("a health monitor is left: %+v", monitor)
				case tt.delay != 0 && (monitor == nil || monitor.Delay != tt.delay):
					t.Errorf("health monitor %+v, want one with a delay of %d", monitor, tt.delay)
				}
				r.steady(svc)
			})
		})
	}
}

// newRigBeside is a rig of another manager of the same cluster.
func newRigBeside(r *rig) *rig {
	other := *r
	other.restart()
	return &other
}

// The list of pools may be read again, for another Service, while load balancers boot. It has the IDs of
// health monitors that no list had before: one list serves all callers.
func TestHealthMonitorsListedDuringCreation(t *testing.T) {
	bubble(t, sim.Options{ProvisionTime: time.Minute, Latency: latency}, Settings{CreateMonitor: true}, func(r *rig) {
		services := fleet(20)
		go func() {
			r.sleep(30 * time.Second)
			if err := r.cloud.store.Pools.Reread(r.t.Context()); err != nil {
				t.Error(err)
			}
		}()
		together(services, func(svc *v1.Service) { r.ensure(svc) })
		r.wantCalls("20 creations", 20*3+30+5)
		if n := r.count("ListHealthMonitors"); n < 1 || n > 2 {
			t.Errorf("%d lists of health monitors, want one for all, or one more for those that came while it was read", n)
		}
		if n := r.count("ShowHealthMonitor"); n > 0 {
			t.Errorf("%d health monitors were read alone", n)
		}
	})
}

// What has to be read before a creation is read together, also when the lists that are there are not too old.
func TestConcurrentCreationsShareReads(t *testing.T) {
	bubble(t, sim.Options{ProvisionTime: 200 * time.Millisecond, Latency: latency}, Settings{}, func(r *rig) {
		r.ensure(service())
		r.sleep(observe.ListAge / 2)
		r.sim.Front().Log().Reset()
		together(fleet(20), func(svc *v1.Service) { r.ensure(svc) })
		if n := r.count("ListFloatingIPs"); n < 1 || n > 2 {
			t.Errorf("%d lists of floating IPs, want one for all, or one more for those that came while it was read", n)
		}
		r.wantCalls("20 creations", 20*3+6)
	})
}

// count is how often an operation was called.
func (r *rig) count(operation string) int {
	return r.sim.Front().Log().Count()[operation]
}
