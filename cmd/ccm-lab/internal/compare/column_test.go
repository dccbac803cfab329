package compare

import "testing"

func TestLogMessageIsTheTextOfALine(t *testing.T) {
	for line, want := range map[string]string{
		`I1122 13:00:00.000000 1 services.go:33] "No \"load\" balancers" provider="vsphere"` + "\n": `No "load" balancers`,
		"W1122 13:00:00.000000 1 core.go:64] No load balancers\n":                                   "No load balancers",
	} {
		if got := logMessage(line); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
