package annotation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// FuzzRead checks that Read returns usable options or an error that names the key.
func FuzzRead(f *testing.F) {
	for i, e := range table(&Options{}) {
		f.Add(uint8(i), e.Example)
		f.Add(uint8(i), "")
	}
	for _, value := range []string{"~[", "!~(", "!&a,,b", "-1", "99999999999999999999", "1.5s", "a=b=c,,=", "http://h/containers/", "\x00", "://", "kube_service_", ","} {
		for i := range table(&Options{}) {
			f.Add(uint8(i), value)
		}
	}
	f.Fuzz(func(t *testing.T, index uint8, value string) {
		entries := table(&Options{})
		key := entries[int(index)%len(entries)].Key
		in := intent.Service{Namespace: "default", Name: "web", Annotations: map[string]string{key: value}}
		var o Options
		var err error
		intenttest.VerifyCost(t, key, func() []string {
			o, err = Read(in)
			return []string{fmt.Sprint(err)}
		})
		if err != nil {
			if !strings.Contains(err.Error(), key) {
				t.Errorf("the error about %s=%q does not name it: %v", key, value, err)
			}
			return
		}
		for _, tag := range slices.Concat(o.LoadBalancerTags, o.ListenerTags, o.PoolTags) {
			if tag == "" || len(tag) > names.MaxTag || names.IsReservedTag(tag) {
				t.Errorf("%s=%q gives the tag %q", key, value, tag)
			}
		}
		for _, n := range []*int{o.Timeouts.Client, o.Timeouts.Connect, o.Timeouts.Member, o.Timeouts.Inspect} {
			if n != nil && (*n < 0 || *n > maxTimeout) {
				t.Errorf("%s=%q gives the timeout %d", key, value, *n)
			}
		}
		if pattern := o.Place.FloatingSubnet; pattern != "" {
			if _, err := ParsePattern(pattern); err != nil {
				t.Errorf("%s=%q is accepted and then not understood: %v", key, value, err)
			}
		}
		if labels := o.NodeLabels; labels != nil {
			for label := range labels {
				if label == "" || strings.ContainsAny(label, ",=") {
					t.Errorf("%s=%q gives the label %q", key, value, label)
				}
			}
		}
	})
}
