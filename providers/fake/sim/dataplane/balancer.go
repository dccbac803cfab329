package dataplane

import (
	"hash/fnv"
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// maxAffinities is the number of remembered clients above which silent ones are evicted.
const maxAffinities = 4096

// balancer chooses targets for one frontend. It is safe for concurrent use.
type balancer struct {
	clock clock.PassiveClock

	mu         sync.Mutex
	affinity   time.Duration
	algorithm  string
	targets    []netip.AddrPort
	health     map[netip.AddrPort]*targetHealth
	next       int
	affinities map[netip.Addr]affinityEntry
	// open are the numbers of open connections of targets.
	open map[netip.AddrPort]int
}

// affinityEntry is the target of a client, and the time at which the client was last seen.
type affinityEntry struct {
	target netip.AddrPort
	seen   time.Time
}

// targetHealth is the result of the checks of one target.
type targetHealth struct {
	known, healthy bool
	// streak is the number of consecutive results that contradict healthy.
	streak int
}

func newBalancer(c clock.PassiveClock) *balancer {
	return &balancer{clock: c, health: map[netip.AddrPort]*targetHealth{}, affinities: map[netip.Addr]affinityEntry{},
		open: map[netip.AddrPort]int{}}
}

// set replaces the targets and how they are chosen; those that stay keep their health.
func (b *balancer) set(f Frontend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	health := make(map[netip.AddrPort]*targetHealth, len(f.Targets))
	b.targets = b.targets[:0:0]
	for _, t := range f.Targets {
		if health[t] != nil {
			continue // nodes on a laptop may share one address
		}
		health[t] = b.health[t]
		if health[t] == nil {
			health[t] = &targetHealth{}
		}
		b.targets = append(b.targets, t)
	}
	b.health = health
	b.affinity, b.algorithm = f.Affinity, f.Algorithm
	if f.Affinity == 0 {
		clear(b.affinities)
	}
}

// pick returns a usable target for a client, by affinity or the algorithm, except those already tried. Its connection
// counts as open until closed is called.
func (b *balancer) pick(client netip.Addr, tried map[netip.AddrPort]bool) (netip.AddrPort, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	if s, ok := b.affinities[client]; ok && now.Sub(s.seen) < b.affinity && b.isUsableLocked(s.target) &&
		!tried[s.target] {
		b.affinities[client] = affinityEntry{s.target, now}
		b.open[s.target]++
		return s.target, true
	}
	first := b.next
	if b.algorithm == SourceIP {
		hash := fnv.New32a()
		_, _ = hash.Write(client.AsSlice())
		first = int(hash.Sum32() >> 1)
	}
	found := -1
	for i := range b.targets {
		at := (first + i) % len(b.targets)
		if t := b.targets[at]; !b.isUsableLocked(t) || tried[t] {
			continue
		}
		if found < 0 || b.open[b.targets[at]] < b.open[b.targets[found]] {
			found = at
		}
		if b.algorithm != LeastConnections {
			break
		}
	}
	if found < 0 {
		return netip.AddrPort{}, false
	}
	b.next = found + 1
	t := b.targets[found]
	b.remember(client, t, now)
	b.open[t]++
	return t, true
}

// closed counts the end of a connection to a target.
func (b *balancer) closed(t netip.AddrPort) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[t]--; b.open[t] <= 0 {
		delete(b.open, t)
	}
}

func (b *balancer) remember(client netip.Addr, t netip.AddrPort, now time.Time) {
	if b.affinity == 0 {
		return
	}
	if len(b.affinities) >= maxAffinities {
		for c, s := range b.affinities {
			if now.Sub(s.seen) >= b.affinity {
				delete(b.affinities, c)
			}
		}
	}
	b.affinities[client] = affinityEntry{t, now}
}

// isUsable reports whether a target may still receive traffic.
func (b *balancer) isUsable(t netip.AddrPort) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.isUsableLocked(t)
}

func (b *balancer) isUsableLocked(t netip.AddrPort) bool {
	v := b.health[t]
	return v != nil && (!v.known || v.healthy)
}

// resetHealth resets the health of all targets: without a check, every target is usable.
func (b *balancer) resetHealth() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, v := range b.health {
		*v = targetHealth{}
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
		*v = targetHealth{known: true, healthy: healthy}
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
		*v = targetHealth{known: true, healthy: healthy}
	}
}

func (b *balancer) currentTargets() []netip.AddrPort {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.targets // replaced, never changed
}
