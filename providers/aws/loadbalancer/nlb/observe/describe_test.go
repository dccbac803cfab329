package observe

import (
	"context"
	"testing"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"

	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// failing answers DescribeListenerAttributes with one error code.
type failing struct {
	api.ELBV2
	code string
}

func (f failing) DescribeListenerAttributes(context.Context, *elbv2.DescribeListenerAttributesInput,
	...func(*elbv2.Options)) (*elbv2.DescribeListenerAttributesOutput, error) {
	return nil, &smithy.GenericAPIError{Code: f.code, Message: "refused"}
}

// TestListenerWithoutAttributes verifies that a listener is read without its attributes where the partition or the policy
// lacks the call, and that other errors fail the read.
func TestListenerWithoutAttributes(t *testing.T) {
	for code, fails := range map[string]bool{
		"InvalidAction":             false,
		"UnknownOperationException": false,
		"UnsupportedOperation":      false,
		"AccessDenied":              false,
		"Throttling":                true,
		"InternalFailure":           true,
	} {
		t.Run(code, func(t *testing.T) {
			l := model.Listener{ARN: "listener", Protocol: model.ProtocolTCP}
			err := describer{failing{code: code}}.completeListener(t.Context(), &l)
			if (err != nil) != fails || (l.AttributesErr != nil) == fails {
				t.Errorf("error %v, of the attributes %v, want an error of the read: %t", err, l.AttributesErr, fails)
			}
		})
	}
}
