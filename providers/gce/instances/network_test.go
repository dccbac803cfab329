package instances

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
)

// zones answer lists of instances, but those that are silent.
type zones struct {
	api.API
	byZone map[string][]string // the instances of a zone, with their names as tags
	silent []string
	// tags replace the names of some instances.
	tags map[string][]string
}

func (z *zones) List(context.Context, *api.Call, api.Target, url.Values) ([]json.RawMessage, error) {
	partial := &api.PartialError{Call: api.InstancesList}
	var out []json.RawMessage
	for zone, names := range z.byZone {
		if slices.Contains(z.silent, zone) {
			partial.Add("zones/" + zone)
			continue
		}
		for _, name := range names {
			tags, ok := z.tags[name]
			if !ok {
				tags = []string{name}
			}
			document, err := json.Marshal(map[string]any{"name": name, "zone": "zones/" + zone,
				"tags": map[string]any{"items": tags}})
			if err != nil {
				return nil, err
			}
			out = append(out, document)
		}
	}
	return out, partial.OrNil()
}

// Firewalls select the nodes of a zone that does not answer as before, for as long as it does not.
func TestNodeTagsOfSilentZone(t *testing.T) {
	t.Parallel()
	cloud := &zones{byZone: map[string][]string{"r1-a": {"one"}, "r1-b": {"two"}}}
	clock := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	ids := []string{"r1-a/one", "r1-b/two"}
	verify := func(s *Source, step string, complete bool, want ...string) {
		t.Helper()
		got, err := s.NodeTags(t.Context(), ids)
		if err != nil || got.Partial == complete || !slices.Equal(got.Tags, want) {
			t.Errorf("%s: %+v, %v, want %q", step, got, err, want)
		}
	}
	s := New(Options{API: cloud, Clock: clock})
	verify(s, "all zones answer", true, "one", "two")
	cloud.silent = []string{"r1-b"}
	for range 5 {
		clock.Step(networkAge)
		verify(s, "silent zone", true, "one", "two")
	}
	verify(New(Options{API: cloud, Clock: clock}), "silent zone after a restart", false, "one")
	cloud.silent, cloud.byZone["r1-b"] = nil, nil
	verify(s, "deleted instance", true, "one")
}

func TestNodeTags(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tags       map[string][]string
		configured []string
		want       Tags
	}{
		"own":        {want: Tags{Tags: []string{"gpu-1", "node-1"}}},
		"shared":     {tags: map[string][]string{"gpu-1": {"g", "gpu", "x"}}, want: Tags{Tags: []string{"gpu", "node-1"}}},
		"one lacks":  {tags: map[string][]string{"gpu-1": {"x"}}, want: Tags{Tags: []string{"node-1"}, Untagged: []string{"gpu-1"}, Partial: true}},
		"all lack":   {tags: map[string][]string{"gpu-1": nil, "node-1": nil}, want: Tags{Untagged: []string{"gpu-1", "node-1"}, Partial: true}},
		"configured": {tags: map[string][]string{"gpu-1": nil}, configured: []string{"b", "a"}, want: Tags{Tags: []string{"a", "b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := New(Options{API: &zones{byZone: map[string][]string{"r1-a": {"node-1", "gpu-1"}}, tags: tc.tags},
				Config: config.Global{NodeTags: tc.configured}})
			got, err := s.NodeTags(t.Context(), []string{"r1-a/node-1", "r1-a/gpu-1"})
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}
