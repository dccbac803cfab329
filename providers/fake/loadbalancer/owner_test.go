package loadbalancer

import "testing"

func TestForeign(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cluster string
		uid     string
		foreign bool
	}{
		"ours":                      {"prod", "c-1", false},
		"ours from before the UID":  {"prod", "", false},
		"another name":              {"test", "c-1", true},
		"another cluster, one name": {"prod", "c-2", true},
		"no cluster at all":         {"", "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owner := foreignOwner(testKey(), test.cluster, map[string]string{TagClusterUID: test.uid})
			if (owner != "") != test.foreign {
				t.Errorf("foreign = %q, want foreign %t", owner, test.foreign)
			}
		})
	}
}
