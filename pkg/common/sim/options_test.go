package sim

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMergeQuotas(t *testing.T) {
	defaults := map[string]int{"a": 1, "b": 2}
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 7}, MergeQuotas(defaults, map[string]int{"b": 7})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if defaults["b"] != 2 {
		t.Error("the defaults are changed")
	}
}

func TestProblems(t *testing.T) {
	defaults := map[string]int{"b": 2, "a": 1}
	for _, tt := range []struct {
		name  string
		check func(*Problems)
		want  string
	}{
		{"none", func(p *Problems) {
			p.CheckErrorRate(0)
			p.CheckErrorRate(1)
			p.CheckQuotas(map[string]int{"a": 9}, defaults)
			p.CheckDurations(0, time.Hour)
		}, ""},
		{"all at once", func(p *Problems) {
			p.Addf("zone %q is none", "x")
			p.CheckErrorRate(1.5)
			p.CheckQuotas(map[string]int{"d": 1, "c": 1, "a": 1}, defaults)
			p.CheckDurations(time.Second, -time.Second)
		}, "zone \"x\" is none\nerror rate 1.5 is not between 0 and 1\nquota \"c\" is unknown: use one of a, b\nquota " +
			"\"d\" is unknown: use one of a, b\nduration -1s must not be negative"},
		{"a rate that is not a number", func(p *Problems) { p.CheckErrorRate(math.NaN()) }, "error rate NaN is not between 0 and 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p Problems
			tt.check(&p)
			got := ""
			if err := p.Err(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("problems:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestUUID(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		id := UUID(r)
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("%s is not a UUID, or not unique", id)
		}
		seen[id] = true
	}
	if again := UUID(rand.New(rand.NewPCG(1, 1))); !seen[again] || strings.Contains(again, " ") {
		t.Errorf("%s: the same seed gives another UUID", again)
	}
}
