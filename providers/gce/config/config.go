// Package config reads gce.conf: it parses, sets defaults and validates, and reports all errors at once.
package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	common "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

const section = "global"

// DefaultEndpoint is the endpoint of the Compute Engine API.
const DefaultEndpoint = "https://compute.googleapis.com/compute/v1/"

// NoTokenURL is the token-url that selects application default credentials.
const NoTokenURL = "nil"

// The values of alpha-features.
const (
	// FeatureSubsets leaves new internal Services to ingress-gce.
	FeatureSubsets = "ILBSubsets"
	// FeatureSkipGroups leaves instance groups to another controller.
	FeatureSkipGroups = "SkipIGsManagement"
)

const stackIPv6 = "IPV6"

// Config is gce.conf. Fields without a value in the file come from the metadata server.
type Config struct {
	Global Global `gcfg:"global"`
}

// Global is the section [global].
type Global struct {
	TokenURL             string        `gcfg:"token-url"`
	TokenBody            common.Secret `gcfg:"token-body"`
	ProjectID            string        `gcfg:"project-id"`
	NetworkProjectID     string        `gcfg:"network-project-id"`
	NetworkName          string        `gcfg:"network-name"`
	SubnetworkName       string        `gcfg:"subnetwork-name"`
	StackType            string        `gcfg:"stack-type"`
	SecondaryRangeName   string        `gcfg:"secondary-range-name"`
	NodeTags             []string      `gcfg:"node-tags"`
	NodeInstancePrefix   string        `gcfg:"node-instance-prefix"`
	Regional             bool          `gcfg:"regional"`
	Multizone            bool          `gcfg:"multizone"`
	LocalZone            string        `gcfg:"local-zone"`
	APIEndpoint          string        `gcfg:"api-endpoint"`
	ContainerAPIEndpoint string        `gcfg:"container-api-endpoint"`
	AlphaFeatures        []string      `gcfg:"alpha-features"`
}

// Read parses, defaults and validates a gce.conf; empty content is valid. It returns all errors at once, each with its
// line. Warnings are about keys that have no effect.
func Read(file string, content []byte) (Config, common.Problems, error) {
	var cfg Config
	f := common.Decode(file, content, &cfg)
	cfg.setDefaults()
	cfg.validate(f)
	cfg.warn(f)
	return cfg, f.Warnings(), f.Err()
}

// Reader reads gce.conf for the descriptor and the factory.
var Reader common.Reader[Config] = Read

func (c *Config) setDefaults() {
	if c.Global.APIEndpoint == "" {
		c.Global.APIEndpoint = DefaultEndpoint
	}
}

var (
	nameForm = regexp.MustCompile(`\A[a-z]([-a-z0-9]*[a-z0-9])?\z`)
	// projectForm also matches numbers, and names with the domain of an organization.
	projectForm = regexp.MustCompile(`\A[a-z0-9]([-a-z0-9.:]*[a-z0-9])?\z`)
)

func (c *Config) validate(f *common.File) {
	g := c.Global
	for key, project := range map[string]string{"project-id": g.ProjectID, "network-project-id": g.NetworkProjectID} {
		if project != "" && !projectForm.MatchString(project) {
			f.Errorf(section, key, "must be the name or number of a project, not %q", project)
		}
	}
	for key, name := range map[string]string{"network-name": g.NetworkName, "subnetwork-name": g.SubnetworkName} {
		if name != "" && !strings.Contains(name, "/") && !nameForm.MatchString(name) {
			f.Errorf(section, key, "must be a name or a URL, not %q", name)
		}
	}
	if g.LocalZone != "" && (!nameForm.MatchString(g.LocalZone) || names.RegionOf(g.LocalZone) == "") {
		f.Errorf(section, "local-zone", "must be a zone such as europe-west1-b, not %q", g.LocalZone)
	}
	for _, tag := range g.NodeTags {
		if !nameForm.MatchString(tag) {
			f.Errorf(section, "node-tags", "must be network tags, and %q is none: repeat the key for each tag", tag)
		}
	}
	c.validateURLs(f)
}

// validateURLs checks the addresses of the API and of tokens.
func (c *Config) validateURLs(f *common.File) {
	g := c.Global
	if !common.IsBaseURL(g.APIEndpoint) || !strings.HasSuffix(g.APIEndpoint, "/") {
		f.Errorf(section, "api-endpoint", "must be a URL that ends in a slash, such as %s, not %q", DefaultEndpoint,
			g.APIEndpoint)
	}
	if g.TokenURL != "" && g.TokenURL != NoTokenURL {
		if u, err := url.Parse(g.TokenURL); err != nil || u.Host == "" {
			f.Errorf(section, "token-url", "must be a URL, or nil for application default credentials")
		}
	}
}

// warn reports keys and values without an effect. Earlier managers accepted them in silence.
func (c *Config) warn(f *common.File) {
	g := c.Global
	if g.StackType != "" && !slices.Contains([]string{"IPV4", "IPV4_IPV6", stackIPv6}, g.StackType) {
		f.Warnf(section, "stack-type", "only IPV6 has an effect, and %q has none", g.StackType)
	}
	for _, feature := range g.AlphaFeatures {
		if feature != FeatureSubsets && feature != FeatureSkipGroups {
			f.Warnf(section, "alpha-features", "%q has no effect: the features are %s and %s", feature, FeatureSubsets,
				FeatureSkipGroups)
		}
	}
	if g.TokenBody != "" && (g.TokenURL == "" || g.TokenURL == NoTokenURL) {
		f.Warnf(section, "token-body", "has no effect without token-url")
	}
	if g.ContainerAPIEndpoint != "" {
		f.Warnf(section, "container-api-endpoint", "has no effect: this manager does not call that API")
	}
}

// AllZones reports whether the nodes are in all zones of the region.
func (g Global) AllZones() bool { return g.Regional || g.Multizone }

// PrefersIPv6 reports whether IPv6 addresses of nodes come first.
func (g Global) PrefersIPv6() bool { return g.StackType == stackIPv6 }

// Has reports whether an alpha feature is on.
func (g Global) Has(feature string) bool { return slices.Contains(g.AlphaFeatures, feature) }
