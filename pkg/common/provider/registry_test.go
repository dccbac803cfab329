package provider

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	cloudprovider "k8s.io/cloud-provider"
)

func factory(io.Reader) (cloudprovider.Interface, error) { return nil, nil }

// The registry belongs to the process, so names are used once.
func TestRegistry(t *testing.T) {
	Register(Descriptor{Name: "regb", Title: "B", New: factory})
	Register(Descriptor{Name: "rega", Title: "A", New: factory})
	if diff := cmp.Diff([]string{"rega", "regb"}, Names()); diff != "" {
		t.Errorf("names must be sorted:\n%s", diff)
	}
	if d, ok := Get("regb"); !ok || d.Title != "B" {
		t.Errorf("Get returns %v, %v", d, ok)
	}
	if _, ok := Get("regc"); ok {
		t.Error("Get returned a provider that is not registered")
	}
	if !cloudprovider.IsCloudProvider("rega") {
		t.Error("the framework does not know the provider")
	}
	if got := Nearest("regaa", Names()); got != "rega" {
		t.Errorf("Nearest returns %q", got)
	}
}

func TestRegisterRejectsInvalidDescriptors(t *testing.T) {
	flag := func(name string) func(*pflag.FlagSet) {
		return func(fs *pflag.FlagSet) { fs.Bool(name, false, "") }
	}
	mask, aliases := "node-cidr-mask-size", map[string]string{"route": "node-route-controller", "ipam": "twice-ipam"}
	Register(Descriptor{Name: "twice", Title: "T", New: factory, Flags: flag(mask), InheritedFlags: []string{mask},
		Controllers: []Controller{{Name: "twice-ipam"}}, ControllerAliases: aliases})
	if got := ControllerAliases(); got["ipam"] != "twice-ipam" || got["service"] != "service-lb-controller" {
		t.Errorf("aliases %v", got)
	}
	alias := func(name, controller string) Descriptor {
		return Descriptor{Name: "x", Title: "T", New: factory, ControllerAliases: map[string]string{name: controller}}
	}
	rule := func(r KubeRule) Descriptor {
		return Descriptor{Name: "x", Title: "T", New: factory, KubeRules: []KubeRule{r}}
	}
	for _, tc := range []struct {
		name string
		d    Descriptor
		want string
	}{
		{"twice", Descriptor{Name: "twice", Title: "T", New: factory}, `"twice" is registered twice`},
		{"no name", Descriptor{Title: "T", New: factory}, `provider name ""`},
		{"a name that is not a label", Descriptor{Name: "My-Cloud", Title: "T", New: factory}, `provider name "My-Cloud"`},
		{"no factory", Descriptor{Name: "x", Title: "T"}, "New is missing"},
		{"no title", Descriptor{Name: "x", New: factory}, "Title is missing"},
		{"a flag without the prefix", Descriptor{Name: "x", Title: "T", New: factory, Flags: flag("region")}, "--region must start with --x-"},
		{"a flag of two providers", Descriptor{Name: "x", Title: "T", New: factory, Flags: flag(mask), InheritedFlags: []string{mask}},
			`providers "x" and "twice" both declare the flag --node-cidr-mask-size`},
		{"a rule without verbs", rule(KubeRule{Resources: []string{"configmaps"}}), "name its resources and verbs"},
		{"a rule for everything", rule(KubeRule{Resources: []string{"*"}, Verbs: []string{"get"}}), "instead of *"},
		{"an alias of no controller", alias("nodeipam", "x-ipam"), `controller alias "nodeipam" of "x-ipam"`},
		{"an alias that is a controller", alias("node-route-controller", "service-lb-controller"), "it must be a further name"},
		{"an alias with two meanings", alias("ipam", "node-route-controller"), `have the controller alias "ipam" for different`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			defer func() {
				err, _ := recover().(error)
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("panicked with %v, want %q", err, tc.want)
				}
			}()
			Register(tc.d)
		})
	}
}

func TestFlagsThatAreInherited(t *testing.T) {
	d := Descriptor{Name: "heir", Title: "T", New: factory, InheritedFlags: []string{"tags"}}
	d.Flags = func(fs *pflag.FlagSet) { fs.Bool("tags", false, ""); fs.Bool("heir-x", false, "") }
	if err := validate(d); err != nil {
		t.Error(err)
	}
	d.InheritedFlags = nil
	if err := validate(d); err == nil {
		t.Error("a flag without the prefix passed")
	}
}

func TestForeignPrefixesExcludesTheCloudItself(t *testing.T) {
	Register(Descriptor{Name: "forone", Title: "One", New: factory, AnnotationPrefixes: []string{"one.example/"}})
	Register(Descriptor{Name: "fortwo", Title: "Two", New: factory,
		AnnotationPrefixes: []string{"two.example/", "2.example/"}})
	RegisterForeignPrefixes("three", "three.example/")
	RegisterForeignPrefixes("forone", "former.example/")
	want := map[string]string{"two.example/": "fortwo", "2.example/": "fortwo", "three.example/": "three"}
	if diff := cmp.Diff(want, ForeignPrefixes("forone")); diff != "" {
		t.Errorf("prefixes (-want +got):\n%s", diff)
	}
}
