package ccmapp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// routeClouds is the value of --configure-cloud-routes: a boolean, as the framework has it, or the names of clouds.
type routeClouds struct {
	// framework is the framework's value; nil in commands that have no such flag.
	framework *bool
	enabled   bool
	// explicit is set if the flag was given.
	explicit bool
	names    []string
}

var _ pflag.Value = (*routeClouds)(nil)

// String implements pflag.Value.
func (r *routeClouds) String() string {
	if len(r.names) > 0 {
		return strings.Join(r.names, ",")
	}
	return strconv.FormatBool(r.enabled)
}

// Type implements pflag.Value.
func (*routeClouds) Type() string { return "bool" }

// Set implements pflag.Value.
func (r *routeClouds) Set(text string) error {
	r.explicit, r.names = true, nil
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

// has reports whether a cloud sets up pod routes. One of several does so only if it is named: routes of two clouds
// would need pod CIDRs that do not overlap, and networks that reach each other.
func (r *routeClouds) has(cloud string, several bool) bool {
	if len(r.names) > 0 {
		return slices.Contains(r.names, cloud)
	}
	return r.enabled && !several
}

// replaceRoutesFlag makes the framework's flag accept the names of clouds too.
func (o *options) replaceRoutesFlag(fs *pflag.FlagSet) {
	enabled := &o.framework.KubeCloudShared.ConfigureCloudRoutes
	o.routes = routeClouds{framework: enabled, enabled: *enabled}
	if f := fs.Lookup(flagCloudRoutes); f != nil {
		f.Value = &o.routes
	}
}
