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
	tags  map[string][]string
	lists int
}

func (z *zones) List(context.Context, *api.Call, api.Target, url.Values) ([]json.RawMessage, error) {
	z.lists++
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
	clock.Step(lackingAge)
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

// An instance that does not exist, and a zone that does not answer, cost a list of all instances a minute, and not one
// for each sync of each Service. One that joins is found.
func TestListsOfAllInstances(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		id       string
		complete bool
	}{
		"no instance":   {id: "r1-zz/ghost", complete: true},
		"silent zone":   {id: "r1-b/two", complete: false},
		"found at once": {id: "r1-a/one", complete: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := &zones{byZone: map[string][]string{"r1-a": {"one"}, "r1-b": {"two"}}, silent: []string{"r1-b"}}
			clock := testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			s := New(Options{API: cloud, Clock: clock})
			verify := func(step string, lists int, ids ...string) {
				t.Helper()
				for range 100 {
					tags, err := s.NodeTags(t.Context(), append(ids, "r1-a/one"))
					if err != nil || tags.Partial == tc.complete {
						t.Errorf("%s: %+v, %v", step, tags, err)
					}
				}
				if cloud.lists != lists {
					t.Errorf("%s: %d lists, want %d", step, cloud.lists, lists)
				}
			}
			verify("first", 1, tc.id)
			cloud.byZone["r1-a"] = append(cloud.byZone["r1-a"], "new")
			verify("another node joins", 2, tc.id, "r1-a/new")
			if tc.id != "r1-a/one" {
				clock.Step(lackingAge)
				verify("a minute later", 3, tc.id, "r1-a/new")
			}
		})
	}
}
