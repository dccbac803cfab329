package controllers

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
)

// RouteClouds is the value of --configure-cloud-routes: a boolean, as the framework has it, or the names of clouds.
type RouteClouds struct {
	// framework is the framework's value; nil in commands that have no such flag.
	framework *bool
	enabled   bool
	names     []string
}

var _ pflag.Value = (*RouteClouds)(nil)

// String implements pflag.Value.
func (r *RouteClouds) String() string {
	if len(r.names) > 0 {
		return strings.Join(r.names, ",")
	}
	return strconv.FormatBool(r.enabled)
}

// Type implements pflag.Value.
func (*RouteClouds) Type() string { return "bool" }

// Set implements pflag.Value.
func (r *RouteClouds) Set(text string) error {
	r.names = nil
	if enabled, err := strconv.ParseBool(text); err == nil {
		r.enabled = enabled
	} else {
		r.enabled, r.names = true, strings.Split(text, ",")
		if slices.Contains(r.names, "") {
			return fmt.Errorf("%q is neither true or false, nor a list of clouds", text)
		}
	}
	if r.framework != nil {
		*r.framework = r.enabled
	}
	return nil
}

// Has reports whether a cloud sets up pod routes. One of several does so only if it is named: routes of two clouds
// would need pod CIDRs that do not overlap, and networks that reach each other.
func (r *RouteClouds) Has(cloud string, several bool) bool {
	if len(r.names) > 0 {
		return slices.Contains(r.names, cloud)
	}
	return r.enabled && !several
}

// NewRouteClouds returns the value that replaces the framework's, which it keeps up to date.
func NewRouteClouds(framework *bool) RouteClouds {
	return RouteClouds{framework: framework, enabled: *framework}
}

// AllRoutes returns the value true.
func AllRoutes() RouteClouds { return RouteClouds{enabled: true} }

// Enabled reports whether any cloud may have pod routes.
func (r *RouteClouds) Enabled() bool { return r.enabled }

// Names returns the named clouds.
func (r *RouteClouds) Names() []string { return r.names }

// CheckRouteRanges rejects a --cluster-cidr with which the route controller of a cloud cannot start.
func CheckRouteRanges(title, clusterCIDR string) error {
	ranges, err := ParseCIDRs(podcidr.FlagCluster, clusterCIDR)
	switch {
	case err != nil:
		return err
	case len(ranges) == 0:
		return cli.UsageErrorf("--%s is not set, but %s sets up pod routes: give the range of all pods, such as "+
			"10.244.0.0/16, or turn routes off with --configure-cloud-routes=false", podcidr.FlagCluster, title)
	}
	if err := podcidr.CheckFamilies(podcidr.FlagCluster, clusterCIDR, ranges); err != nil {
		return cli.UsageErrorf("%v", err)
	}
	return nil
}

// ParseCIDRs reads the value of a flag with ranges; an empty one has none.
func ParseCIDRs(flag, list string) ([]netip.Prefix, error) {
	if list == "" {
		return nil, nil
	}
	var ranges []netip.Prefix
	for _, text := range strings.Split(list, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, cli.UsageErrorf("--%s=%s: %q is not an address range; write for example 10.244.0.0/16", flag, list, text)
		}
		ranges = append(ranges, prefix.Masked())
	}
	return ranges, nil
}
