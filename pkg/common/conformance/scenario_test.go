package conformance

import (
	"slices"
	"testing"
)

// worldWithCertificates is a world of which only the certificates matter.
type worldWithCertificates struct{ World }

func (worldWithCertificates) Certificate() string { return "certificate" }

func TestScenarioOfTLSNeedsCertificates(t *testing.T) {
	scenarios := Scenarios()
	i := slices.IndexFunc(scenarios, func(s Scenario) bool { return s.Name == "TLS at the load balancer" })
	for lack, w := range map[string]World{"certificates": struct{ World }{}, "": worldWithCertificates{}} {
		if got := scenarios[i].MissingIn(w); got != lack {
			t.Errorf("MissingIn(%T) = %q, want %q", w, got, lack)
		}
	}
}
