package config

import (
	"fmt"

	commonconfig "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Reader reads cloud.conf for the descriptor and the factory.
var Reader commonconfig.Reader[Config] = Read

// Read parses, defaults and validates a cloud.conf. It returns all errors at once, each with its line.
// Warnings are about keys that have no effect. Files that cloud.conf references are read later, whenever
// they change.
func Read(file string, content []byte) (Config, commonconfig.Problems, error) {
	if content == nil {
		return Config{}, nil, fmt.Errorf("the %s provider requires a configuration file: set --cloud-config to a file "+
			"with auth-url and credentials in its section [Global]", names.Scheme)
	}
	cfg := Config{
		LoadBalancer: LoadBalancer{
			Enabled: true, CascadeDelete: true,
			MonitorMaxRetries: defaultMaxRetries, MonitorMaxRetriesDown: defaultMaxRetriesDown,
			MaxSharedLB: defaultMaxSharedLB, IngressHostnameSuffix: defaultHostnameSuffix,
			MonitorDelay:   commonconfig.Duration{Duration: defaultMonitorDelay},
			MonitorTimeout: commonconfig.Duration{Duration: defaultMonitorTimeout},
		},
	}
	f := commonconfig.Decode(file, content, &cfg)
	cfg.setDefaults()
	cfg.validate(f)
	return cfg, f.Warnings(), f.Err()
}

func (c *Config) setDefaults() {
	lb := &c.LoadBalancer
	if lb.Provider == "" {
		lb.Provider = defaultLBProvider
	}
	if lb.Method == "" {
		lb.Method = api.AlgorithmRoundRobin
		if lb.Provider == providerOVN {
			// OVN has no other algorithm.
			lb.Method = api.AlgorithmSourceIPPort
		}
	}
	if lb.ContainerStore == "" {
		lb.ContainerStore = storeBarbican
	}
	g := &c.Global
	if g.EndpointType == "" && !g.ReadsClouds() {
		g.EndpointType = endpointPublic
	}
	if g.RequestTimeout.Duration == 0 {
		g.RequestTimeout = c.Metadata.RequestTimeout
	}
	if g.RequestTimeout.Duration == 0 {
		g.RequestTimeout.Duration = DefaultRequestTimeout
	}
}
