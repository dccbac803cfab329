package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMatchSortsObjects(t *testing.T) {
	type listener struct {
		name string
		port int
	}
	for _, tc := range []struct {
		name string
		have []listener
		want []int
		out  MatchResult[listener, int]
	}{
		{"nothing", nil, nil, MatchResult[listener, int]{}},
		{"all missing", nil, []int{80, 443}, MatchResult[listener, int]{Missing: []int{80, 443}}},
		{"all surplus", []listener{{"a", 80}, {"b", 443}}, nil, MatchResult[listener, int]{Surplus: []listener{{"a", 80}, {"b", 443}}}},
		{"one of each", []listener{{"a", 80}, {"b", 443}}, []int{443, 8080}, MatchResult[listener, int]{
			Missing: []int{8080}, Kept: []Pair[listener, int]{{listener{"b", 443}, 443}}, Surplus: []listener{{"a", 80}},
		}},
		{"two objects for one", []listener{{"a", 80}, {"b", 80}}, []int{80}, MatchResult[listener, int]{
			Kept: []Pair[listener, int]{{listener{"a", 80}, 80}}, Surplus: []listener{{"b", 80}},
		}},
		{"one object for two", []listener{{"a", 80}}, []int{80, 80}, MatchResult[listener, int]{
			Missing: []int{80}, Kept: []Pair[listener, int]{{listener{"a", 80}, 80}},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Match(tc.have, tc.want, func(l listener, port int) bool { return l.port == port })
			if diff := cmp.Diff(tc.out, got, cmp.AllowUnexported(listener{})); diff != "" {
				t.Errorf("Match (-want +got):\n%s", diff)
			}
		})
	}
}
