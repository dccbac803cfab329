package loadbalancer

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// Octavia makes the port of an address before it checks the rest of a creation, and leaves the port
// behind when it then refuses: one more with each retry. It writes nobody's name on it, so that what
// says whose it is are circumstances, all of which have to hold:
//   - our creation was refused: an answer that was lost, or an error of the server's, says nothing;
//   - the port was made while that creation ran, in the network, the subnet and with the address that
//     the creation asked for;
//   - Octavia owns it, and it is named after a load balancer that does not exist;
//   - that is still so after refusalAge, when no creation of anybody's can be under way any more, and
//     no floating IP is at the port;
//   - no more such ports were made than creations of ours were refused meanwhile. If there are
//     others too, nobody can tell which are ours, and all stay.

const (
	// portOwner is what Neutron says of ports that Octavia made; their names are portPrefix and the
	// load balancer's ID, and their device devicePrefix and the same.
	portOwner    = "Octavia"
	portPrefix   = "octavia-lb-"
	devicePrefix = "lb-"
	// refusalAge is how long the port of a refused creation is left alone. A load balancer is shown
	// when its creation has been answered, and Octavia, its proxies and clients give up on a request
	// after one to a few minutes.
	refusalAge = 10 * time.Minute
	// clockSkew is how far Neutron's clock, which counts whole seconds, may be from ours. Where it is
	// further away, ports stay.
	clockSkew = 3 * time.Second
)

// strayPorts finds and deletes the ports that refused creations leave behind.
type strayPorts struct {
	api   API
	clock clock.Clock

	mu sync.Mutex
	// refusals are those whose ports are not decided yet, and those that were refused at the same time.
	refusals []*refusal
}

// refusal is one creation that Octavia refused.
type refusal struct {
	began, ended time.Time
	// suspects are the ports that were made meanwhile, by ID.
	suspects map[string]api.Port
}

// during says whether something that was made then, by Neutron's clock, can be of this creation.
func (r *refusal) during(then time.Time) bool {
	return !then.Before(r.began.Add(-clockSkew)) && !then.After(r.ended.Add(clockSkew))
}

// beside says whether the ports of two creations cannot be told apart.
func (r *refusal) beside(other *refusal) bool {
	return !r.began.Add(-clockSkew).After(other.ended.Add(clockSkew)) && !other.began.Add(-clockSkew).After(r.ended.Add(clockSkew))
}

// refused is called when Octavia has refused a creation that began then. The ports that it left are
// deleted later, for which nobody waits. The context says where to log, and not how long.
func (s *strayPorts) refused(ctx context.Context, spec loadbalancers.CreateOpts, began time.Time) {
	if spec.VipPortID != "" {
		return // the port is the user's own
	}
	r := &refusal{began: began, ended: s.clock.Now(), suspects: map[string]api.Port{}}
	ports, err := s.api.ListPorts(ctx, api.PortFilter{DeviceOwner: portOwner, NetworkID: spec.VipNetworkID})
	if err != nil {
		return
	}
	for _, p := range ports {
		then, err := time.Parse(time.RFC3339, p.CreatedAt)
		if err == nil && r.during(then) && unowned(p) && placed(p, spec) {
			r.suspects[p.ID] = p
		}
	}
	s.mu.Lock()
	s.refusals = append(s.refusals, r)
	s.mu.Unlock()
	if len(r.suspects) > 0 {
		s.later(func() { s.sweep(context.WithoutCancel(ctx), r) })
	}
}

// later runs work after refusalAge, with a timer rather than a goroutine that waits where the clock has them.
func (s *strayPorts) later(work func()) {
	if timers, ok := s.clock.(clock.WithDelayedExecution); ok {
		timers.AfterFunc(refusalAge, work)
		return
	}
	go func() {
		<-s.clock.After(refusalAge)
		work()
	}()
}

// sweep deletes the ports that a refused creation has left behind, once that is certain.
func (s *strayPorts) sweep(ctx context.Context, r *refusal) {
	logger := klog.FromContext(ctx)
	suspects, refusals := s.together(r)
	var stray []api.Port
	for _, p := range suspects {
		abandoned, err := s.abandoned(ctx, p)
		if err != nil {
			logger.V(2).Info("Whether a port was left behind by a refused creation is not known; it stays", "port", p.ID, "err", err)
			return
		}
		if abandoned {
			stray = append(stray, p)
		}
	}
	if len(stray) > refusals {
		logger.Info("More ports without a load balancer were made than creations of ours were refused, so that nobody can tell which are whose; they stay",
			"ports", idsOf(stray), "refused", refusals)
		return
	}
	for _, p := range stray {
		if _, ours := r.suspects[p.ID]; !ours {
			continue
		}
		logger.Info("Deleting a port that Octavia left behind when it refused a load balancer", "port", p.ID, "name", p.Name)
		if err := cloudapi.IgnoreNotFound(s.api.DeletePort(ctx, p.ID)); err != nil {
			logger.Error(err, "A port that Octavia left behind stays", "port", p.ID, "name", p.Name)
		}
	}
}

// together are the suspects of all creations that were refused at the same time as one, and how many
// these were. What is too old to be asked about again is forgotten.
func (s *strayPorts) together(r *refusal) (map[string]api.Port, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	suspects, refusals := map[string]api.Port{}, 0
	for _, other := range s.refusals {
		if !r.beside(other) {
			continue
		}
		refusals++
		for id, p := range other.suspects {
			suspects[id] = p
		}
	}
	oldest := s.clock.Now().Add(-2 * refusalAge)
	s.refusals = slices.DeleteFunc(s.refusals, func(other *refusal) bool { return other.ended.Before(oldest) })
	return suspects, refusals
}

// placed says whether a port is where a creation asked for one.
func placed(p api.Port, spec loadbalancers.CreateOpts) bool {
	return slices.ContainsFunc(p.FixedIPs, func(f api.FixedIP) bool {
		return (spec.VipSubnetID == "" || f.SubnetID == spec.VipSubnetID) && (spec.VipAddress == "" || sameIP(f.Address, spec.VipAddress))
	})
}

// unowned says whether a port looks as Octavia leaves it: named after a load balancer, and used by nothing.
func unowned(p api.Port) bool {
	id, ok := strings.CutPrefix(p.Name, portPrefix)
	return ok && id != "" && p.DeviceOwner == portOwner && (p.DeviceID == devicePrefix+id || p.DeviceID == "") && p.Status != api.StatusActive
}

// abandoned says whether a port is still as Octavia left it, for a load balancer that does not exist.
func (s *strayPorts) abandoned(ctx context.Context, suspect api.Port) (bool, error) {
	p, err := s.api.GetPort(ctx, suspect.ID)
	if gone, err := ignoreGone(err); gone || err != nil {
		return false, err
	}
	if p.Name != suspect.Name || !unowned(p) {
		return false, nil
	}
	gone, err := ignoreGone(errOf(s.api.GetLoadBalancer(ctx, strings.TrimPrefix(p.Name, portPrefix))))
	if !gone || err != nil {
		return false, err
	}
	used, err := s.api.ListFloatingIPs(ctx, p.ID)
	return len(used) == 0, err
}

func errOf[T any](_ T, err error) error { return err }

func idsOf(ports []api.Port) []string {
	ids := make([]string, len(ports))
	for i, p := range ports {
		ids[i] = p.ID
	}
	slices.Sort(ids)
	return ids
}
