package config

import (
	commonconfig "github.com/unified-ccm/unified-ccm/pkg/common/config"
)

// Read parses, defaults and validates a cloud.conf; an empty one is valid. It returns all errors at
// once, each with its line. Warnings report keys without effect and unknown keys: other managers
// ignore unknown keys in these files, so those must not prevent a start.
func Read(file string, content []byte) (Config, commonconfig.Problems, error) {
	var cfg Config
	f := commonconfig.Decode(file, content, &cfg)
	cfg.setDefaults()
	cfg.validate(f)
	return cfg, f.Warnings(), f.Err()
}

// Reader reads cloud.conf for the descriptor and the factory.
var Reader commonconfig.Reader[Config] = Read

func (c *Config) setDefaults() {
	g := &c.Global
	if len(g.NodeIPFamilies) == 0 {
		g.NodeIPFamilies = []string{FamilyIPv4}
	}
	if g.ClusterServiceLoadBalancerHealthProbeMode == "" {
		g.ClusterServiceLoadBalancerHealthProbeMode = ProbeNodePort
	}
	if g.ClusterServiceSharedLoadBalancerHealthProbePort == 0 {
		g.ClusterServiceSharedLoadBalancerHealthProbePort = defaultProbePort
	}
	if g.ClusterServiceSharedLoadBalancerHealthProbePath == "" {
		g.ClusterServiceSharedLoadBalancerHealthProbePath = defaultProbePath
	}
	if g.SupportedTopologyInstanceTypePattern == "" {
		g.SupportedTopologyInstanceTypePattern = defaultTopologyPattern
	}
}
