package instances

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// zones answer lists of instances, but those that are silent.
type zones struct {
	api.API
	byZone map[string][]string // the instances of a zone, with their names as tags
	silent []string
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
			document, err := json.Marshal(map[string]any{"name": name, "zone": "zones/" + zone,
				"tags": map[string]any{"items": []string{name}}})
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
		tags, got, err := s.NodeTags(t.Context(), ids)
		if err != nil || got != complete || !slices.Equal(tags, want) {
			t.Errorf("%s: tags %q, complete %t, %v, want %q", step, tags, got, err, want)
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
