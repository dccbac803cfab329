package spell

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"region", "zone", "state-file", "provision-time"}
	for _, tc := range []struct{ name, word, want string }{
		{"the same word", "region", "region"},
		{"another case", "Region", "region"},
		{"a letter left out", "regon", "region"},
		{"a letter too many", "regioon", "region"},
		{"another letter", "regiun", "region"},
		{"neighbours swapped", "regoin", "region"},
		{"an underscore for a hyphen", "state_file", "state-file"},
		{"no separator", "provisiontime", "provision-time"},
		{"a short word one slip away", "zon", "zone"},
		{"nothing near", "password", ""},
		{"nothing at all", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Nearest(tc.word, known); got != tc.want {
				t.Errorf("Nearest(%q) = %q, want %q", tc.word, got, tc.want)
			}
		})
	}
}

func TestNearestPrefersTheClosest(t *testing.T) {
	if got := Nearest("fae", []string{"face", "fare", "fake"}); got != "face" {
		t.Errorf("a tie must go to the first: got %q", got)
	}
	if got := Nearest("opnstack", []string{"openstacks", "openstack"}); got != "openstack" {
		t.Errorf("got %q", got)
	}
}
