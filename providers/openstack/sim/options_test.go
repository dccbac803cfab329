package sim

import (
	"strings"
	"testing"
)

func TestNewReportsAllInvalidOptions(t *testing.T) {
	_, err := New(Options{
		ErrorRate: 2, BootTime: -1, Without: []string{"identity", "mail"}, Quotas: map[string]int{"x": 1},
		UnversionedCatalogue: true, VersionedCatalogue: true,
	})
	for _, want := range []string{
		`service "identity" cannot be left out`, `service "mail" cannot be left out`, "both versioned and unversioned", "error rate 2", `quota "x" is unknown`, "duration -1ns",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
