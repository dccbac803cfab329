package loadbalancer

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
		out  matched[listener, int]
	}{
		{"nothing", nil, nil, matched[listener, int]{}},
		{"all missing", nil, []int{80, 443}, matched[listener, int]{Missing: []int{80, 443}}},
		{"all surplus", []listener{{"a", 80}, {"b", 443}}, nil, matched[listener, int]{Surplus: []listener{{"a", 80}, {"b", 443}}}},
		{"one of each", []listener{{"a", 80}, {"b", 443}}, []int{443, 8080}, matched[listener, int]{
			Missing: []int{8080}, Kept: []pair[listener, int]{{listener{"b", 443}, 443}}, Surplus: []listener{{"a", 80}},
		}},
		{"two objects for one", []listener{{"a", 80}, {"b", 80}}, []int{80}, matched[listener, int]{
			Kept: []pair[listener, int]{{listener{"a", 80}, 80}}, Surplus: []listener{{"b", 80}},
		}},
		{"one object for two", []listener{{"a", 80}}, []int{80, 80}, matched[listener, int]{
			Missing: []int{80}, Kept: []pair[listener, int]{{listener{"a", 80}, 80}},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := match(tc.have, tc.want, func(l listener, port int) bool { return l.port == port })
			if diff := cmp.Diff(tc.out, got, cmp.AllowUnexported(listener{})); diff != "" {
				t.Errorf("match (-want +got):\n%s", diff)
			}
		})
	}
}
