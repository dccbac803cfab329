package apply

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
)

// refusing rejects every change of a listener with one error code.
type refusing struct {
	api.ELBV2
	code string
}

func (r refusing) ModifyListener(context.Context, *elasticloadbalancingv2.ModifyListenerInput,
	...func(*elasticloadbalancingv2.Options)) (*elasticloadbalancingv2.ModifyListenerOutput, error) {
	return nil, &smithy.GenericAPIError{Code: r.code, Message: "refused"}
}

// TestAttachGroupFallsBack verifies that a listener moves to its new target group at once if AWS does not attach both
// to it, for which the documentation of ModifyListener has several errors.
func TestAttachGroupFallsBack(t *testing.T) {
	for code, fails := range map[string]bool{
		"InvalidLoadBalancerAction":                false,
		"InvalidConfigurationRequest":              false,
		"TooManyTargetGroups":                      false,
		"TooManyUniqueTargetGroupsPerLoadBalancer": false,
		"TargetGroupAssociationLimit":              false,
		"TooManyActions":                           false,
		"UnsupportedProtocol":                      false,
		"AccessDenied":                             true,
		"Throttling":                               true,
		"InternalFailure":                          true,
		"TargetGroupNotFound":                      true,
	} {
		t.Run(code, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			client := refusing{code: code}
			w := New(Options{API: client, Store: observe.NewStore(observe.Options{API: client, Clock: clock}), Clock: clock}).Writer(lbcommon.Key{Namespace: "default", Name: "web"})
			attached, err := w.AttachGroup(t.Context(), "balancer", model.Listener{ARN: "listener"}, "old", "new")
			if attached || (err != nil) != fails {
				t.Errorf("attached %t, error %v, want an error: %t", attached, err, fails)
			}
		})
	}
}
