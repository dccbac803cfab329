package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

func TestMembersFollowWhileTheServiceIsInvalid(t *testing.T) {
	invalid := web(annotated("load-balancer.unified-ccm.io/scheme", "neither"))
	pool := ref("pool", "lb-web/80-TCP")
	f := newFixture(t)
	f.mustEnsure(t, web(), node("a"))

	if _, err := f.EnsureLoadBalancer(t.Context(), "prod", invalid, []*v1.Node{node("a"), node("b")}); !cloudapi.Is(err, cloudapi.Invalid) {
		t.Errorf("Ensure: %v, want an error of class Invalid", err)
	}
	if got := f.cloud.have[pool]; got != "a,b" {
		t.Errorf("members after Ensure %q", got)
	}
	if err := f.UpdateLoadBalancer(t.Context(), "prod", invalid, []*v1.Node{node("b")}); err != nil {
		t.Errorf("Update: %v", err)
	}
	if got := f.cloud.have[pool]; got != "b" {
		t.Errorf("members after Update %q", got)
	}

	other := newFixture(t)
	other.cloud.have = f.cloud.have
	if err := other.UpdateLoadBalancer(t.Context(), "prod", invalid, []*v1.Node{node("c")}); !cloudapi.Is(err, cloudapi.Invalid) {
		t.Errorf("Update of a process that has not seen the Service valid: %v, want an error: members are not updated", err)
	}
}
