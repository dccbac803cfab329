package loadbalancer

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/diff"
)

func TestEffectsAreDisruptive(t *testing.T) { intenttest.VerifyEffects(t, diff.Effects()) }

func TestNamesOfFieldsHaveDifferentHashes(t *testing.T) {
	if err := applied.CheckFieldNames(intenttest.FieldNames(annotation.Vocabulary("openstack"))); err != nil {
		t.Error(err)
	}
}
