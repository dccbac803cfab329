package intenttest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// reports takes what a test would fail with.
type reports struct {
	testing.TB
	texts []string
}

func (r *reports) Helper() {}

func (r *reports) Error(args ...any) { r.texts = append(r.texts, fmt.Sprint(args...)) }

func (r *reports) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

func TestRefused(t *testing.T) {
	annotations := map[string]string{"x/zone": "?", "x/free": "?"}
	harmless := map[string]bool{"x/free": true}
	for _, tt := range []struct {
		name  string
		err   error
		event string
		want  []string
	}{
		{"every key is told", errors.New("x/zone is odd"), "Warning SyncLoadBalancerFailed Error syncing load balancer: failed to ensure load balancer: x/zone is odd", nil},
		{"one is not", errors.New("no"), "Warning SyncLoadBalancerFailed Error syncing load balancer: failed to ensure load balancer: no", []string{"nothing is said about x/zone"}},
		{"none is refused", nil, "", []string{"bad values are accepted"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &reports{}
			if event := Refused(r, tt.err, annotations, harmless); event != tt.event || !slices.Equal(r.texts, tt.want) {
				t.Errorf("the event is %q and reported is %q, want %q and %q", event, r.texts, tt.event, tt.want)
			}
		})
	}
}

func TestMisspelt(t *testing.T) {
	for name, tt := range map[string]struct {
		says string
		want int
	}{
		"told":               {"%s: unknown; did you mean x/zone?", 0},
		"not told":           {"", 2},
		"the slip is not":    {"did you mean x/zone?%.0s", 2},
		"another key's name": {"%s: unknown; did you mean x/zones?", 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reports{}
			Misspelt(r, []string{"x/zone"}, func(slip string) []string { return []string{fmt.Sprintf(tt.says, slip)} })
			if len(r.texts) != tt.want {
				t.Errorf("reported is %q, want %d", r.texts, tt.want)
			}
		})
	}
}
