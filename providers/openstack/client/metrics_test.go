package client

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

func TestLegacyMetrics(t *testing.T) {
	t.Parallel()
	m := newLegacyMetrics()
	m.observeCall(cloudapi.Call{Request: cloudapi.Request{Operation: "ShowLoadBalancer"}, Sent: true})
	(*LegacyMetrics)(nil).observeCall(cloudapi.Call{Sent: true})
	for operation, want := range map[string]string{"ShowLoadBalancer": "loadbalancer_get", "BatchUpdateMembers": "loadbalancer_members_update", "CreateToken": ""} {
		if got := legacyRequest(operation); got != want {
			t.Errorf("%s is counted as %q, want %q", operation, got, want)
		}
	}
}
