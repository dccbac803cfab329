package loadbalancer

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
)

func TestChangesFollowFromFieldsThatExist(t *testing.T) {
	vocabulary := annotation.Vocabulary("openstack")
	intenttest.Follows(t, vocabulary, Effects(),
		tagFields(annotation.KeyLoadBalancerTags), tagFields(annotation.KeyListenerTags), tagFields(annotation.KeyPoolTags),
		[]string{annotation.KeyKeepFloatingIP})
	if err := lbcommon.CheckFieldNames(intenttest.FieldNames(vocabulary)); err != nil {
		t.Error(err)
	}
}
