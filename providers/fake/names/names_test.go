package names

import (
	"errors"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

// The provider IDs of this test are in users' clusters. A change that makes it fail orphans nodes.
func TestProviderIDs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		providerID         string
		adopts             bool
		id                 string
		foreign, malformed bool
	}{
		"current":                       {providerID: "fake://fake-1a/i-00000001", id: "i-00000001"},
		"no zone":                       {providerID: "fake:///i-00000001", malformed: true},
		"no ID":                         {providerID: "fake://fake-1a/", malformed: true},
		"too many parts":                {providerID: "fake://fake-1/fake-1a/i-1", malformed: true},
		"nothing":                       {providerID: "", malformed: true},
		"another cloud":                 {providerID: "aws:///us-east-1a/i-00000001", foreign: true},
		"another cloud, alike":          {providerID: "faker://fake-1a/i-00000001", foreign: true},
		"kind, not adopted":             {providerID: "kind://docker/kind/worker", foreign: true},
		"kind, adopted":                 {providerID: "kind://docker/kind/worker", adopts: true, id: "kind-worker"},
		"kwok, adopted":                 {providerID: "kwok://node-1", adopts: true, id: "kwok-node-1"},
		"kwok without a name":           {providerID: "kwok://", adopts: true, foreign: true},
		"another cloud, though adopted": {providerID: "openstack:///1-2-3", adopts: true, foreign: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, err := NewScheme(test.adopts).Parse(test.providerID)
			var foreign *instances.ForeignIDError
			var malformed *instances.MalformedIDError
			if id != test.id || errors.As(err, &foreign) != test.foreign || errors.As(err, &malformed) != test.malformed {
				t.Errorf("Parse = %q, %v", id, err)
			}
		})
	}
	id, err := NewScheme(false).Format("fake-1a", "i-00000001")
	if want := "fake://fake-1a/i-00000001"; id != want || err != nil {
		t.Errorf("format = %q, %v, want %q", id, err, want)
	}
}

func TestRouteName(t *testing.T) {
	t.Parallel()
	if got, want := Route("prod", "10.244.1.0/24"), "prod-10.244.1.0-24"; got != want {
		t.Errorf("Route = %q, want %q", got, want)
	}
}
