package sim

import (
	"strings"
	"testing"
)

func TestNewReportsAllInvalidOptions(t *testing.T) {
	_, err := New(Options{
		Region: "us-west-2", Zones: []string{"us-east-1a"}, ErrorRate: 2, Quotas: map[string]int{"x": 1}, BootTime: -1,
	})
	for _, want := range []string{`zone "us-east-1a" is not region "us-west-2" and a letter`, "error rate 2",
		`quota "x" is unknown`, "duration -1ns"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
