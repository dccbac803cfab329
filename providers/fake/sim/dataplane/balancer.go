package dataplane

import (
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// maxSticky is the number of remembered clients above which silent ones are evicted.
const maxSticky = 4096

// balancer chooses targets for one frontend. It is safe for concurrent use.
type balancer struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	affinity time.Duration
	targets  []netip.AddrPort
	health   map[netip.AddrPort]*verdict
	turn     int
	sticky   map[netip.Addr]stick
}

// stick is the target of a client, and when the client was last seen.
type stick struct {
	target netip.AddrPort
	seen   time.Time
}

// verdict on one target.
type verdict struct {
	known, healthy bool
	// streak is the number of consecutive results that contradict the verdict.
	streak int
}

func newBalancer(c clock.PassiveClock) *balancer {
	return &balancer{clock: c, health: map[netip.AddrPort]*verdict{}, sticky: map[netip.Addr]stick{}}
}

// set replaces the targets; those that stay keep their verdict.
func (b *balancer) set(targets []netip.AddrPort, affinity time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	health := make(map[netip.AddrPort]*verdict, len(targets))
	b.targets = b.targets[:0:0]
	for _, t := range targets {
		if health[t] != nil {
			continue // nodes on a laptop may share one address
		}
		health[t] = b.health[t]
		if health[t] == nil {
			health[t] = &verdict{}
		}
		b.targets = append(b.targets, t)
	}
	b.health = health
	b.affinity = affinity
	if affinity == 0 {
		clear(b.sticky)
	}
}

// pick returns a usable target for a client, round robin or by affinity, except those already tried.
func (b *balancer) pick(client netip.Addr, tried map[netip.AddrPort]bool) (netip.AddrPort, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	if s, ok := b.sticky[client]; ok && now.Sub(s.seen) < b.affinity && b.usableLocked(s.target) && !tried[s.target] {
		b.sticky[client] = stick{s.target, now}
		return s.target, true
	}
	for range b.targets {
		t := b.targets[b.turn%len(b.targets)]
		b.turn++
		if b.usableLocked(t) && !tried[t] {
			b.remember(client, t, now)
			return t, true
		}
	}
	return netip.AddrPort{}, false
}

func (b *balancer) remember(client netip.Addr, t netip.AddrPort, now time.Time) {
	if b.affinity == 0 {
		return
	}
	if len(b.sticky) >= maxSticky {
		for c, s := range b.sticky {
			if now.Sub(s.seen) >= b.affinity {
				delete(b.sticky, c)
			}
		}
	}
	b.sticky[client] = stick{t, now}
}

// usable reports whether a target may still receive traffic.
func (b *balancer) usable(t netip.AddrPort) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.usableLocked(t)
}

func (b *balancer) usableLocked(t netip.AddrPort) bool {
	v := b.health[t]
	return v != nil && (!v.known || v.healthy)
}

// trust resets all verdicts: without a check, every target is usable.
func (b *balancer) trust() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, v := range b.health {
		*v = verdict{}
	}
}

// report counts the result of one check.
func (b *balancer) report(t netip.AddrPort, healthy bool, check Check) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.health[t]
	if v == nil {
		return // removed while it was being checked
	}
	if !v.known {
		*v = verdict{known: true, healthy: healthy}
		return
	}
	if v.healthy == healthy {
		v.streak = 0
		return
	}
	v.streak++
	needed := check.Unhealthy
	if healthy {
		needed = check.Healthy
	}
	if v.streak >= needed {
		*v = verdict{known: true, healthy: healthy}
	}
}

func (b *balancer) all() []netip.AddrPort {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.targets // replaced, never changed
}
