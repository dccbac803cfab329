package intenttest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// reports collects the failures of a test.
type reports struct {
	testing.TB
	texts []string
}

func (r *reports) Helper() {}

func (r *reports) Error(args ...any) { r.texts = append(r.texts, fmt.Sprint(args...)) }

func (r *reports) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

func TestVerifyRefused(t *testing.T) {
	annotations := map[string]string{"x/zone": "?", "x/free": "?"}
	var problems intent.Problems
	problems.Add("x/zone", "", "odd")
	harmless := map[string]bool{"x/free": true}
	for _, tt := range []struct {
		name  string
		err   error
		event string
		want  []string
	}{
		{"every key is named", problems.Err("web"), "Warning SyncLoadBalancerFailed Error syncing load balancer: failed to ensure load balancer: web: x/zone: odd (invalid)", nil},
		{"one is not", errors.New("no"), "Warning SyncLoadBalancerFailed Error syncing load balancer: failed to ensure load balancer: no", []string{"the error does not name x/zone"}},
		{"none is refused", nil, "", []string{"invalid values are accepted"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &reports{}
			if event := VerifyRefused(r, tt.err, annotations, harmless); event != tt.event || !slices.Equal(r.texts, tt.want) {
				t.Errorf("event %q, failures %q, want %q and %q", event, r.texts, tt.event, tt.want)
			}
		})
	}
}

func TestVerifySuggestions(t *testing.T) {
	for name, tt := range map[string]struct {
		event string
		want  int
	}{
		"suggested":             {"%s: unknown; did you mean x/zone?", 0},
		"no event":              {"", 2},
		"the typo is not named": {"did you mean x/zone?%.0s", 2},
		"another key's name":    {"%s: unknown; did you mean x/zones?", 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reports{}
			VerifySuggestions(r, []string{"x/zone"}, func(typo string) []string { return []string{fmt.Sprintf(tt.event, typo)} })
			if len(r.texts) != tt.want {
				t.Errorf("failures %q, want %d", r.texts, tt.want)
			}
		})
	}
}
