// Package sim is the fake cloud: a world of instances, load balancers, addresses and routes behind the HTTP
// API of package api. It runs in process or behind a socket, in memory or with a state file, and can forward
// traffic on the loopback.
package sim

import (
	"context"
	"math"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim/dataplane"
)

// DataPlaneProxy is the value of Options.DataPlane that forwards traffic.
const DataPlaneProxy = "proxy"

// callLogLimit bounds the memory of a cloud that runs for days; counts continue beyond it.
const callLogLimit = 100_000

// Options of a cloud. The zero value is a cloud in memory without limits, latency and faults.
type Options struct {
	// StateFile keeps the world across restarts; empty keeps it in memory. Several clouds, in one process or in
	// many, may share one file and thereby one world.
	StateFile string
	// Region is "fake-1" by default, and Zones are the region's name with a, b and c appended.
	Region string
	Zones  []string

	// Pools are the public addresses that can be allocated: 198.51.100.0/24 and 2001:db8::/64 by
	// default, from the ranges reserved for documentation.
	Pools []netip.Prefix
	// InternalPools are the addresses of internal load balancers: 10.241.0.0/16 and
	// 2001:db8:f01::/64 by default.
	InternalPools []netip.Prefix
	// InstanceRanges are the internal addresses of instances: 10.240.0.0/16 and
	// 2001:db8:f00::/64 by default. An instance has one address of each family.
	InstanceRanges []netip.Prefix
	// ExternalRanges are the external addresses of instances; there are none by default.
	ExternalRanges []netip.Prefix

	// Quotas by name (load-balancers, addresses, instances, routes) replace the default ones.
	Quotas map[string]int
	// ProvisionTime is how long a new load balancer stays in provisioning.
	ProvisionTime time.Duration
	// Latency of every call.
	Latency time.Duration
	// RateLimit is the number of calls per second, for reads and for changes each; 0 means no limit. The burst
	// size is the same.
	RateLimit float64
	// ErrorRate is the probability with which a call fails with an internal error, from 0 to 1.
	ErrorRate float64
	// Seed makes failures repeatable.
	Seed int64
	// Token is required from callers; empty disables authentication.
	Token string

	// DataPlane is empty, or DataPlaneProxy to forward traffic on the loopback from each load balancer's
	// listeners to its members. All default ranges are then loopback ranges, so that every load balancer and
	// every instance has its own address (on Linux, where all of 127.0.0.0/8 is local): 127.65.0.0/16 for
	// instances, 127.66.0.0/16 and 127.67.0.0/16 for public and internal load balancers.
	DataPlane string
	// Standby disables the data plane until StartDataPlane is called: a process that only reads a shared world must not
	// open its ports.
	Standby bool
	// PageSize of lists: api.PageSize by default, which is also the most.
	PageSize int
	// Clock is the real one by default.
	Clock clock.WithTicker
}

// Cloud is one world. It is safe for concurrent use. The caller must close it.
type Cloud struct {
	options   Options
	store     *store
	handler   *handler
	front     *sim.Front
	dataPlane atomic.Pointer[dataPlane] // nil without a data plane
}

// handler serves the API without faults and limits, which the front adds.
type handler struct {
	cloud *Cloud
	mux   *http.ServeMux
	// byPattern names the operation of each of the mux's patterns.
	byPattern map[string]sim.Operation
}

// dataPlane keeps the proxy's frontends in sync with the load balancers.
type dataPlane struct {
	cloud   *Cloud
	proxy   *dataplane.Proxy
	changed chan struct{}
	cancel  context.CancelFunc
	done    chan struct{}

	mu sync.Mutex
	// problems by load balancer ID.
	problems map[string]string
}

// Front is the entry point of clients: over a socket with ServeHTTP, or in process with Transport.
func (c *Cloud) Front() *sim.Front { return c.front }

// Close stops the data plane, if there is one, and closes the state file. The world in it stays.
func (c *Cloud) Close() error {
	if p := c.dataPlane.Load(); p != nil {
		p.stop()
	}
	return c.store.close()
}

func (o Options) withDefaults() Options {
	if o.Region == "" {
		o.Region = "fake-1"
	}
	if len(o.Zones) == 0 {
		o.Zones = []string{o.Region + "a", o.Region + "b", o.Region + "c"}
	}
	loopback := o.DataPlane == DataPlaneProxy
	o.Pools = defaultRanges(o.Pools, loopback, "127.66.0.0/16", "198.51.100.0/24", "2001:db8::/64")
	o.InternalPools = defaultRanges(o.InternalPools, loopback, "127.67.0.0/16", "10.241.0.0/16", "2001:db8:f01::/64")
	o.InstanceRanges = defaultRanges(o.InstanceRanges, loopback, "127.65.0.0/16", "10.240.0.0/16", "2001:db8:f00::/64")
	o.Quotas = sim.MergeQuotas(defaultQuotas(), o.Quotas)
	if o.PageSize == 0 {
		o.PageSize = api.PageSize
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// defaultRanges returns the set ranges, or the default ones if there are none.
func defaultRanges(set []netip.Prefix, loopback bool, local string, documentation ...string) []netip.Prefix {
	if len(set) > 0 {
		return set
	}
	if loopback {
		return []netip.Prefix{netip.MustParsePrefix(local)}
	}
	out := make([]netip.Prefix, 0, len(documentation))
	for _, p := range documentation {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

func (o Options) validate() error {
	var problems sim.Problems
	for _, list := range []struct {
		name     string
		prefixes []netip.Prefix
	}{
		{"address pool", o.Pools}, {"internal pool", o.InternalPools},
		{"instance range", o.InstanceRanges}, {"external range", o.ExternalRanges},
	} {
		for _, p := range list.prefixes {
			if !p.IsValid() || p != p.Masked() {
				problems.Addf("%s %s is not a network: write %s", list.name, p, p.Masked())
			}
		}
	}
	problems.CheckQuotas(o.Quotas, defaultQuotas())
	for _, name := range sortedKeys(o.Quotas) {
		if limit := o.Quotas[name]; limit < 0 {
			problems.Addf("quota %s is %d: it must not be negative", name, limit)
		}
	}
	problems.CheckErrorRate(o.ErrorRate)
	if o.RateLimit < 0 {
		problems.Addf("rate limit %v must not be negative", o.RateLimit)
	}
	if o.Latency < 0 || o.ProvisionTime < 0 {
		problems.Addf("latency %v and provision time %v must not be negative", o.Latency, o.ProvisionTime)
	}
	if o.PageSize < 1 || o.PageSize > api.PageSize {
		problems.Addf("page size %d is not between 1 and %d", o.PageSize, api.PageSize)
	}
	if o.DataPlane != "" && o.DataPlane != DataPlaneProxy {
		problems.Addf("data plane %q is unknown: use %q, or leave it empty for none", o.DataPlane, DataPlaneProxy)
	}
	return problems.Err()
}

func (o Options) rules() *rules {
	return &rules{
		region: o.Region, zones: o.Zones, quotas: o.Quotas,
		provisionTime: o.ProvisionTime, pageSize: o.PageSize,
		public: o.Pools, internal: o.InternalPools, machines: o.InstanceRanges, external: o.ExternalRanges,
	}
}

func (o Options) limits() map[string]sim.Bucket {
	if o.RateLimit == 0 {
		return nil
	}
	bucket := sim.Bucket{Rate: o.RateLimit, Burst: int(math.Ceil(o.RateLimit))}
	return map[string]sim.Bucket{sim.ClassRead: bucket, sim.ClassWrite: bucket}
}

func (p *dataPlane) stop() {
	p.cancel()
	<-p.done
}
