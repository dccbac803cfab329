package gce

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// flags are the provider's own. All have the names of the previous manager's, and can never change.
type flags struct {
	annotations bool
	// refused and ignored have the values of flags without an effect.
	refused, ignored map[string]*bool
}

// flag is a flag of the previous manager that has no effect.
type flag struct{ name, help string }

// flagAnnotations writes the names of the objects of load balancers into annotations.
const flagAnnotations = "enable-l4-lb-annotations"

// refusedFlags would change what exists, and are refused when they are set.
func refusedFlags() []flag {
	return []flag{
		{"enable-multi-project", "nodes of other projects are foreign"},
		{"enable-rbs-default-l4-netlb", "the annotation cloud.google.com/l4-rbs hands single Services to ingress-gce"},
		{"enable-l4-deny-firewall", "networks deny what no firewall allows"},
		{"enable-gke-tenant-controller", "it needs the API of GKE"},
		{"enable-multi-subnet-cluster", "it needs the API of GKE"},
		{"enable-multi-networking", "it needs the API of GKE"},
	}
}

// ignoredFlags ask for what this manager does anyway, or for nothing.
func ignoredFlags() []flag {
	return []flag{
		{"enable-l4-deny-firewall-rollback-cleanup", "deny firewalls of an earlier manager are always deleted"},
		{"enable-l4-ilb-fine-grained-lock", "Services are always synced side by side"},
		{"enable-discrete-port-forwarding", "forwarding rules with single ports are read, and not created"},
	}
}

func newFlags() *flags { return &flags{refused: map[string]*bool{}, ignored: map[string]*bool{}} }

// inheritedFlags returns the names of the flags, none of which has the provider's prefix.
func inheritedFlags() []string {
	names := []string{flagAnnotations}
	for _, f := range append(refusedFlags(), ignoredFlags()...) {
		names = append(names, f.name)
	}
	return names
}

// add adds the flags to a flag set.
func (f *flags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&f.annotations, flagAnnotations, f.annotations, "Write the name of the target pool or backend "+
		"service of a "+
		"load balancer into an annotation of its Service.")
	for _, refused := range refusedFlags() {
		f.refused[refused.name] = fs.Bool(refused.name, false, "Not supported: "+refused.help+". Only false is accepted.")
	}
	for _, ignored := range ignoredFlags() {
		f.ignored[ignored.name] = fs.Bool(ignored.name, false, "No effect: "+ignored.help+".")
	}
}

// validate returns the errors of flags that are not supported, and logs those without an effect.
func (f *flags) validate() error {
	var errs []error
	for _, refused := range refusedFlags() {
		if set := f.refused[refused.name]; set != nil && *set {
			errs = append(errs, fmt.Errorf("--%s is not supported: %s; remove it", refused.name, refused.help))
		}
	}
	for _, ignored := range ignoredFlags() {
		if set := f.ignored[ignored.name]; set != nil && *set {
			klog.Background().Info("A flag has no effect", "flag", ignored.name, "reason", ignored.help)
		}
	}
	return errors.Join(errs...)
}
