package annotation_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/loadbalancer/annotation"
)

// Whoever may write one Service must not stop the manager for all others.
func TestReadIsBounded(t *testing.T) {
	vocabulary := annotation.Vocabulary("vsphere")
	intenttest.VerifyBounded(t, vocabulary, func(svc *v1.Service) (texts []string) {
		in, warnings, err := intent.Read(svc, vocabulary)
		for _, w := range warnings {
			texts = append(texts, w.Message)
		}
		problems := in.NewProblems()
		annotation.Read(in, &problems)
		if err = intent.Join(in.Subject(), err, problems.Err(in.Subject())); err != nil {
			texts = append(texts, err.Error())
		}
		return texts
	})
}
