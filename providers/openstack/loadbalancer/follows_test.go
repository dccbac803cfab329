package loadbalancer

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/diff"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
)

func TestChangesFollowFromFieldsThatExist(t *testing.T) {
	vocabulary := annotation.Vocabulary("openstack")
	intenttest.VerifyFollows(t, vocabulary, diff.Effects(),
		model.TagFields(annotation.KeyLoadBalancerTags), model.TagFields(annotation.KeyListenerTags), model.TagFields(annotation.KeyPoolTags),
		[]string{annotation.KeyKeepFloatingIP})
	if err := lbcommon.CheckFieldNames(intenttest.FieldNames(vocabulary)); err != nil {
		t.Error(err)
	}
}
