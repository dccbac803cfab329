package loadbalancer

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer/annotation"
)

func TestEffects(t *testing.T) {
	vocabulary := annotation.Vocabulary("fake")
	intenttest.VerifyEffects(t, Effects())
	if err := applied.CheckFieldNames(intenttest.FieldNames(vocabulary)); err != nil {
		t.Error(err)
	}
}
