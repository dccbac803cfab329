package nodes

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestFilterByLabels(t *testing.T) {
	all := []*v1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "bare"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "edge", Labels: map[string]string{"pool": "edge"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "core", Labels: map[string]string{"pool": "core", "ssd": ""}}},
	}
	for _, tt := range []struct {
		name   string
		labels map[string]string
		want   []string
	}{
		{"no labels", nil, []string{"bare", "edge", "core"}},
		{"a value", map[string]string{"pool": "edge"}, []string{"edge"}},
		{"any value", map[string]string{"pool": ""}, []string{"edge", "core"}},
		{"all of several", map[string]string{"pool": "", "ssd": ""}, []string{"core"}},
		{"a label that none has", map[string]string{"gpu": ""}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, n := range FilterByLabels(all, tt.labels) {
				got = append(got, n.Name)
			}
			if !slices.Equal(got, tt.want) || len(all) != 3 || all[0].Name != "bare" {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
