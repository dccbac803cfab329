// Package config reads the cloud.conf of the fake provider: it parses, sets defaults and validates, and
// reports all errors at once.
package config

import (
	"net/netip"
	"slices"
	"strings"

	"k8s.io/utils/clock"

	gcfg "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim"
)

// Config is cloud.conf. The zero value is not valid: Read fills in defaults.
type Config struct {
	Global Global
	Quota  Quota
}

// Global is the section [Global].
type Global struct {
	Region            string      `gcfg:"region"`
	Endpoint          string      `gcfg:"endpoint"`
	Token             gcfg.Secret `gcfg:"token"`
	AdoptUnknownNodes bool        `gcfg:"adopt-unknown-nodes"`
	InstanceType      string      `gcfg:"instance-type"`

	// The following keys describe the cloud in this process, and have no effect with an endpoint.
	Zone          []string      `gcfg:"zone"`
	StateFile     string        `gcfg:"state-file"`
	AddressPool   []string      `gcfg:"address-pool"`
	ProvisionTime gcfg.Duration `gcfg:"provision-time"`
	Latency       gcfg.Duration `gcfg:"latency"`
	RateLimit     float64       `gcfg:"rate-limit"`
	ErrorRate     float64       `gcfg:"error-rate"`
	Seed          int64         `gcfg:"seed"`
	DataPlane     string        `gcfg:"data-plane"`
}

// Read parses, defaults and validates a cloud.conf; empty content is valid. It returns all
// errors at once, each with its line. Warnings are about keys that have no effect.
func Read(file string, content []byte) (Config, gcfg.Problems, error) {
	// Defaults of keys for which zero is a valid choice are set before the file is read.
	cfg := Config{Global: Global{AdoptUnknownNodes: true}}
	f := gcfg.Decode(file, content, &cfg)
	cfg.setDefaults()
	cfg.validate(f)
	return cfg, f.Warnings(), f.Err()
}

// Reader reads cloud.conf for the descriptor and the factory.
var Reader gcfg.Reader[Config] = Read

func (c *Config) setDefaults() {
	g := &c.Global
	if g.Region == "" {
		g.Region = defaultRegion
	}
	if g.DataPlane == "" {
		g.DataPlane = dataPlaneNone
	}
}

func (c *Config) validate(f *gcfg.File) {
	c.validateLocation(f)
	c.validateSimulation(f)
	for _, q := range c.Quota.list() {
		if q.limit < 0 {
			f.Errorf(sectionQuota, q.name, "must not be negative, but is %d; remove it to use the cloud's own limit", q.limit)
		}
	}
	c.warnUnused(f)
}

// validateLocation validates the endpoint, region and zones.
func (c *Config) validateLocation(f *gcfg.File) {
	g := c.Global
	validateName(f, "region", g.Region)
	for i, zone := range g.Zone {
		validateName(f, "zone", zone)
		if slices.Contains(g.Zone[:i], zone) {
			f.Errorf(sectionGlobal, "zone", "%q is given twice; give each zone once", zone)
		}
	}
	if g.Endpoint == "" {
		return
	}
	if !gcfg.IsBaseURL(g.Endpoint) {
		f.Errorf(sectionGlobal, "endpoint", "must be a URL such as http://127.0.0.1:8099; credentials go into token")
	}
}

// validateName validates a label value that is part of provider IDs.
func validateName(f *gcfg.File, key, value string) {
	valid := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-'
	}
	if value == "" || len(value) > 63 || strings.Trim(value, "-") != value ||
		strings.ContainsFunc(value, func(r rune) bool { return !valid(r) }) {
		f.Errorf(sectionGlobal, key, "must be lower-case letters, digits and inner hyphens, at most 63, not %q", value)
	}
}

// validateSimulation validates the behaviour of the cloud in this process.
func (c *Config) validateSimulation(f *gcfg.File) {
	g := c.Global
	for _, pool := range g.AddressPool {
		p, err := netip.ParsePrefix(pool)
		switch {
		case err != nil:
			f.Errorf(sectionGlobal, "address-pool", "must be a CIDR such as 198.51.100.0/24, not %q", pool)
		case p != p.Masked():
			f.Errorf(sectionGlobal, "address-pool", "%q has bits set behind its prefix length; write %s", pool, p.Masked())
		}
	}
	if g.RateLimit < 0 {
		f.Errorf(sectionGlobal, "rate-limit", "must not be negative, but is %v; 0 means no limit", g.RateLimit)
	}
	if g.ErrorRate < 0 || g.ErrorRate >= 1 {
		f.Errorf(sectionGlobal, "error-rate", "must be at least 0 and below 1, but is %v; 0.01 lets one call in a hundred "+
			"fail", g.ErrorRate)
	}
	f.RequireOneOf(sectionGlobal, "data-plane", g.DataPlane, dataPlaneNone, sim.DataPlaneProxy)
}

// warnUnused warns about keys of the in-process cloud when an endpoint is set. It is silent if there are errors,
// because endpoint itself may be wrong.
func (c *Config) warnUnused(f *gcfg.File) {
	if c.Global.Endpoint == "" || f.Err() != nil {
		return
	}
	for _, key := range Keys() {
		if slices.Contains(remoteKeys(), key.Key) && key.Section == sectionGlobal {
			continue
		}
		if f.Has(key.Section, key.Key) {
			f.Warnf(key.Section, key.Key, "has no effect with endpoint: it describes a cloud in this process")
		}
	}
}

// remoteKeys are the keys of [Global] that have an effect with an endpoint.
func remoteKeys() []string {
	return []string{"region", "endpoint", "token", "adopt-unknown-nodes", "instance-type"}
}

// Simulator returns the options of the cloud in this process.
func (c *Config) Simulator(clk clock.WithTicker) sim.Options {
	g := c.Global
	o := sim.Options{
		StateFile:     g.StateFile,
		Region:        g.Region,
		Zones:         g.Zone,
		ProvisionTime: g.ProvisionTime.Duration,
		Latency:       g.Latency.Duration,
		RateLimit:     g.RateLimit,
		ErrorRate:     g.ErrorRate,
		Seed:          g.Seed,
		Token:         g.Token.Reveal(),
		Clock:         clk,
		Quotas:        map[string]int{},
		Standby:       true, // until Initialize: a plan must not open ports
	}
	if g.DataPlane != dataPlaneNone {
		o.DataPlane = g.DataPlane
	}
	for _, pool := range g.AddressPool {
		if p, err := netip.ParsePrefix(pool); err == nil { // validated
			o.Pools = append(o.Pools, p)
		}
	}
	for _, q := range c.Quota.list() {
		if q.limit > 0 {
			o.Quotas[q.name] = q.limit
		}
	}
	return o
}
