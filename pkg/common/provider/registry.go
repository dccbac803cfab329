package provider

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/names"

	"github.com/unified-ccm/unified-ccm/pkg/common/internal/spell"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// registry is filled by the init functions of providers and only read after that. It is the only package
// state, because cloudprovider's own registry is package state too.
var registry = struct {
	sync.RWMutex
	byName map[string]Descriptor
	// foreign maps prefixes of annotations to clouds without a provider.
	foreign map[string]string
}{byName: map[string]Descriptor{}, foreign: map[string]string{}}

// namePattern is the form of a provider name: it becomes a provider ID scheme, a metric label, a flag prefix, a
// build tag and a Go package name.
var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// Register makes a provider available to --cloud-provider and stores its descriptor. It is called from the
// provider's init function and panics on programming errors: a duplicate name, a missing factory, flags
// without the provider's prefix, a flag or an alias that another provider declares too.
func Register(d Descriptor) {
	if err := validate(d); err != nil {
		panic(err)
	}
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.byName[d.Name]; taken {
		panic(fmt.Errorf("provider %q is registered twice", d.Name))
	}
	for _, other := range registry.byName {
		if err := checkClashes(d, other); err != nil {
			panic(err)
		}
	}
	registry.byName[d.Name] = d
	cloudprovider.RegisterCloudProvider(d.Name, d.New)
}

// Get returns the descriptor of a linked provider.
func Get(name string) (Descriptor, bool) {
	registry.RLock()
	defer registry.RUnlock()
	d, ok := registry.byName[name]
	return d, ok
}

// All returns the descriptors of all linked providers, sorted by name.
func All() []Descriptor {
	registry.RLock()
	defer registry.RUnlock()
	all := slices.Collect(maps.Values(registry.byName))
	sorting.Func(all, func(a, b Descriptor) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Names returns the names of all linked providers, sorted.
func Names() []string {
	var list []string
	for _, d := range All() {
		list = append(list, d.Name)
	}
	return list
}

// Nearest returns the entry of known that is most similar to word, or "" if none is near.
func Nearest(word string, known []string) string { return spell.Nearest(word, known) }

func validate(d Descriptor) error {
	switch {
	case !namePattern.MatchString(d.Name):
		return fmt.Errorf("provider name %q: it must be lower-case letters and digits, starting with a letter", d.Name)
	case d.New == nil:
		return fmt.Errorf("provider %q: New is missing", d.Name)
	case d.Title == "":
		return fmt.Errorf("provider %q: Title is missing", d.Name)
	}
	for _, name := range flagNames(d) {
		if !strings.HasPrefix(name, d.Name+"-") && !slices.Contains(d.InheritedFlags, name) {
			return fmt.Errorf("provider %q: flag --%s must start with --%s-, or it may clash with another provider's", d.Name,
				name, d.Name)
		}
	}
	for _, rule := range d.KubeRules {
		if err := rule.validate(); err != nil {
			return fmt.Errorf("provider %q: %w", d.Name, err)
		}
	}
	return checkAliases(d)
}

// flagNames returns the names of the flags of a provider.
func flagNames(d Descriptor) []string {
	if d.Flags == nil {
		return nil
	}
	fs := pflag.NewFlagSet(d.Name, pflag.ContinueOnError)
	d.Flags(fs)
	var list []string
	fs.VisitAll(func(f *pflag.Flag) { list = append(list, f.Name) })
	return list
}

// checkAliases returns an error if an alias of the provider is a controller, or stands for none.
func checkAliases(d Descriptor) error {
	controllers := slices.Collect(maps.Values(names.CCMControllerAliases()))
	for _, c := range d.Controllers {
		controllers = append(controllers, c.Name)
	}
	for alias, name := range d.ControllerAliases {
		if slices.Contains(controllers, alias) || !slices.Contains(controllers, name) {
			return fmt.Errorf("provider %q: controller alias %q of %q: it must be a further name of a controller", d.Name, alias,
				name)
		}
	}
	return nil
}

// checkClashes returns an error if two providers declare the same flag, or the same alias of different controllers. The
// framework would parse a flag into the variable of one of them, a different one at each start.
func checkClashes(a, b Descriptor) error {
	others := flagNames(b)
	for _, name := range flagNames(a) {
		if slices.Contains(others, name) {
			return fmt.Errorf("providers %q and %q both declare the flag --%s: declare it once, in the manager, and pass its "+
				"value in ControllerContext", a.Name, b.Name, name)
		}
	}
	for alias, name := range a.ControllerAliases {
		if other, ok := b.ControllerAliases[alias]; ok && other != name {
			return fmt.Errorf("providers %q and %q have the controller alias %q for different controllers: %s and %s", a.Name,
				b.Name, alias, name, other)
		}
	}
	return nil
}

// ControllerAliases returns the further names of controllers in --controllers, with the name of each controller: those
// of the framework and those of all linked providers.
func ControllerAliases() map[string]string {
	all := names.CCMControllerAliases()
	for _, d := range All() {
		maps.Copy(all, d.ControllerAliases)
	}
	return all
}
