package annotation_test

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

// Whoever may write one Service must not stop the manager for all others.
func TestReadIsBounded(t *testing.T) {
	intenttest.VerifyProviderBounded(t, annotation.Vocabulary("aws"), func(in intent.Service) ([]string, error) {
		o, err := annotation.Read(in)
		return o.Warnings, err
	})
}
