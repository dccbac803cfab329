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
// without the provider's prefix.
func Register(d Descriptor) {
	if err := validate(d); err != nil {
		panic(err)
	}
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.byName[d.Name]; taken {
		panic(fmt.Errorf("provider %q is registered twice", d.Name))
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
	var names []string
	for _, d := range All() {
		names = append(names, d.Name)
	}
	return names
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
	case d.Flags == nil:
		return nil
	}
	fs := pflag.NewFlagSet(d.Name, pflag.ContinueOnError)
	d.Flags(fs)
	var err error
	fs.VisitAll(func(f *pflag.Flag) {
		if !strings.HasPrefix(f.Name, d.Name+"-") && !slices.Contains(d.InheritedFlags, f.Name) {
			err = fmt.Errorf("provider %q: flag --%s must start with --%s-, or it may clash with another provider's", d.Name,
				f.Name, d.Name)
		}
	})
	return err
}
