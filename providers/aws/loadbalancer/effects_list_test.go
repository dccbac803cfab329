package loadbalancer

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

func TestDeclaredEffects(t *testing.T) {
	vocabulary := annotation.Vocabulary("aws")
	intenttest.VerifyEffects(t, Effects())
	if err := lbcommon.CheckFieldNames(intenttest.FieldNames(vocabulary)); err != nil {
		t.Error(err)
	}
}
