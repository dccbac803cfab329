package controllers

import "testing"

func TestRoutesOfNamedClouds(t *testing.T) {
	for _, tc := range []struct {
		value   string
		several bool
		want    bool
	}{
		{"true", false, true}, {"false", false, false}, {"true", true, false}, {"false", true, false},
		{"aws", true, true}, {"openstack,aws", true, true}, {"openstack", true, false}, {"aws", false, true},
	} {
		framework := false
		r := RouteClouds{framework: &framework}
		if err := r.Set(tc.value); err != nil {
			t.Fatal(err)
		}
		if got := r.Has("aws", tc.several); got != tc.want {
			t.Errorf("%s, several %t: %t, want %t", tc.value, tc.several, got, tc.want)
		}
		if r.String() != tc.value || framework != (tc.value != "false") {
			t.Errorf("%s: %s, the framework's value is %t", tc.value, r.String(), framework)
		}
	}
	if err := (&RouteClouds{}).Set("aws,"); err == nil {
		t.Error("an empty name is accepted")
	}
}
