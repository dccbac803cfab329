package guard

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// starter is a provider that brings a controller.
type starter struct {
	*spy
	given provider.ControllerContext
}

func (s *starter) StartController(_ context.Context, name string, given provider.ControllerContext) (bool, error) {
	s.given = given
	return name == "tagging", s.err
}

func TestControllersGetOwnershipAndDryRun(t *testing.T) {
	inner := &starter{spy: &spy{}}
	started, err := Wrap(inner, Options{DryRun: true}).(provider.ControllerStarter).StartController(t.Context(), "tagging",
		provider.ControllerContext{})
	if !started || err != nil {
		t.Errorf("started %v, %v", started, err)
	}
	if !inner.given.DryRun || inner.given.Recorder == nil {
		t.Errorf("controller context = %+v", inner.given)
	}
	opted := &v1.Node{Spec: v1.NodeSpec{ProviderID: "spy://a"}}
	if got := inner.given.Owns(opted); got != provider.Mine {
		t.Errorf("a node of the provider is %s", got)
	}
	opted.Labels = map[string]string{"node.unified-ccm.io/managed": "false"}
	if got := inner.given.Owns(opted); got != provider.Foreign {
		t.Errorf("a node that opted out is %s", got)
	}
	var without cloudprovider.Interface = &spy{}
	if started, err := Wrap(without, Options{}).(provider.ControllerStarter).StartController(t.Context(), "x",
		provider.ControllerContext{}); started || err != nil {
		t.Errorf("a provider without controllers: %v, %v", started, err)
	}
}

func TestProviderGetsRuntime(t *testing.T) {
	for _, dry := range []bool{false, true} {
		inner := &spy{}
		Wrap(inner, Options{DryRun: dry}).Initialize(nil, t.Context().Done())
		if inner.runtime.DryRun != dry {
			t.Errorf("dry run %v: runtime of the provider has DryRun = %v", dry, inner.runtime.DryRun)
		}
	}
}
