package sim

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim/dataplane"
)

// dataPlaneInterval is the interval at which the data plane polls for changes that no operation of this process
// reports: another process's change of the state file, the end of provisioning, a port that became free.
const dataPlaneInterval = 500 * time.Millisecond

// StartDataPlane starts the data plane, if the options enable it. It is called once.
func (c *Cloud) StartDataPlane() {
	if c.options.DataPlane == DataPlaneProxy {
		c.dataPlane.Store(startDataPlane(c))
	}
}

func startDataPlane(c *Cloud) *dataPlane {
	ctx, cancel := context.WithCancel(context.Background())
	p := &dataPlane{
		cloud: c, proxy: dataplane.New(c.options.Clock),
		changed: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{}),
	}
	c.store.notify(func() {
		select {
		case p.changed <- struct{}{}:
		default: // one is already pending, and will include this change
		}
	})
	go p.run(ctx, c.options.Clock)
	return p
}

func (p *dataPlane) run(ctx context.Context, c clock.WithTicker) {
	defer close(p.done)
	defer p.proxy.Close()
	ticker := c.NewTicker(dataPlaneInterval)
	defer ticker.Stop()
	for {
		p.sync(ctx)
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
		case <-ticker.C():
		}
	}
}

func (p *dataPlane) sync(ctx context.Context) {
	var want []dataplane.Frontend
	err := p.cloud.store.view(ctx, func(t *tx) error {
		want = t.frontends()
		return nil
	})
	if err != nil {
		if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Failed to update the data plane; forwarding is unchanged")
		}
		return
	}
	p.proxy.Sync(want) //nolint:contextcheck // its goroutines live until the proxy is closed, not until this pass ends
	p.storeProblems(ctx, p.proxy.Problems())
}

// storeProblems stores problems for the API, and logs new ones.
func (p *dataPlane) storeProblems(ctx context.Context, problems map[string]error) {
	messages := map[string][]string{}
	for id, err := range problems {
		lb, _, _ := strings.Cut(id, "/")
		messages[lb] = append(messages[lb], err.Error())
	}
	byLB := make(map[string]string, len(messages))
	for lb, list := range messages {
		slices.Sort(list)
		byLB[lb] = strings.Join(slices.Compact(list), "; ")
	}
	p.mu.Lock()
	before := p.problems
	p.problems = byLB
	p.mu.Unlock()
	for lb, text := range byLB {
		if before[lb] != text {
			klog.FromContext(ctx).Info("Load balancer cannot receive traffic", "loadBalancer", lb, "reason", text)
		}
	}
}

// addWarnings adds the problems of this process's data plane to load balancers.
func (c *Cloud) addWarnings(list []api.LoadBalancer) {
	p := c.dataPlane.Load()
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range list {
		list[i].Warning = p.problems[list[i].ID]
	}
}

// frontends returns the open ports of all active load balancers, in a stable order.
func (t *tx) frontends() []dataplane.Frontend {
	var out []dataplane.Frontend
	for _, lb := range sortedBy(t.LoadBalancers, func(lb *loadBalancer) string { return lb.ID }) {
		if lb.stateAt(t.now) != api.LBActive {
			continue
		}
		for _, ip := range lb.Addresses {
			addr, err := netip.ParseAddr(ip)
			if err != nil {
				continue
			}
			for _, l := range lb.Listeners {
				out = append(out, t.frontend(lb, l, addr))
			}
		}
	}
	return out
}

func (t *tx) frontend(lb *loadBalancer, l api.Listener, addr netip.Addr) dataplane.Frontend {
	pool := lb.Pools[poolIndex(lb, l.Pool)]
	f := dataplane.Frontend{
		ID:            lb.ID + "/" + addr.String() + "/" + l.Name,
		Protocol:      l.Protocol,
		Address:       netip.AddrPortFrom(addr, uint16(l.Port)),
		IdleTimeout:   seconds(l.IdleTimeoutSeconds),
		Affinity:      seconds(pool.AffinitySeconds),
		Algorithm:     pool.Algorithm,
		ProxyProtocol: pool.ProxyProtocol,
		Check:         healthCheckOf(pool),
	}
	for _, cidr := range l.SourceRanges {
		if p, err := netip.ParsePrefix(cidr); err == nil {
			f.SourceRanges = append(f.SourceRanges, p)
		}
	}
	for _, m := range pool.Members {
		if target, ok := t.target(m, addr); ok {
			f.Targets = append(f.Targets, target)
		}
	}
	return f
}

// healthCheckOf returns no check for a UDP pool without its own check port: no TCP check of a UDP port ever
// passes.
func healthCheckOf(p api.Pool) dataplane.Check {
	h := p.HealthCheck
	if p.Protocol == protocolUDP && h.Port == 0 {
		return dataplane.Check{}
	}
	return dataplane.Check{
		Protocol: h.Protocol, Port: uint16(h.Port), Path: h.Path,
		Interval: seconds(h.IntervalSeconds), Timeout: seconds(h.TimeoutSeconds),
		Healthy: h.HealthyThreshold, Unhealthy: h.UnhealthyThreshold,
	}
}

// target returns a running member's internal address, preferably of the load balancer's family.
func (t *tx) target(m api.Member, lb netip.Addr) (netip.AddrPort, bool) {
	i := t.Instances[m.InstanceID]
	if i.State != api.StateRunning {
		return netip.AddrPort{}, false
	}
	var found netip.Addr
	for _, ip := range i.InternalAddresses {
		addr, err := netip.ParseAddr(ip)
		if err != nil {
			continue
		}
		if !found.IsValid() || found.Is4() != lb.Is4() && addr.Is4() == lb.Is4() {
			found = addr
		}
	}
	return netip.AddrPortFrom(found, uint16(m.Port)), found.IsValid()
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
