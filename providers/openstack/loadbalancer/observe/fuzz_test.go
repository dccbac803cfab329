package observe

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// FuzzParseChecksums verifies that an annotation that other clients can edit proves nothing about a pool by accident.
func FuzzParseChecksums(f *testing.F) {
	var pool api.Pool
	pool.ID = "11111111-2222-3333-4444-555555555555"
	for _, seed := range []string{"", "a:b", ":0123456789:0123456789", poolKey(pool.ID) + ":0123456789:abcdefghij", ",,:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checksums := ParseChecksums(text)
		if got := checksums.lookup(pool); got != "" && checksums[poolKey(pool.ID)].ids != sum(nil) {
			t.Errorf("%q proves %q", text, got)
		}
		for key, c := range checksums {
			if len(c.ids) != checksumLength || len(c.members) != checksumLength {
				t.Errorf("%q: %+v", key, c)
			}
		}
	})
}
