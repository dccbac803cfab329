package loadbalancer

import (
	"context"
	"testing"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// refuse gives the rig a new manager, to which AWS refuses an operation of network load balancers with a code.
func (r *rig) refuse(operation, code string) {
	refusing := middleware.InitializeMiddlewareFunc("refuse", func(ctx context.Context, in middleware.InitializeInput,
		next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		if awsmiddleware.GetOperationName(ctx) == operation {
			return middleware.InitializeOutput{}, middleware.Metadata{}, &smithy.GenericAPIError{Code: code, Message: "refused"}
		}
		return next.HandleInitialize(ctx, in)
	})
	r.elbv2 = elbv2.NewFromConfig(simtest.Config(r.sim), func(o *elbv2.Options) {
		o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
			return s.Initialize.Add(refusing, middleware.After)
		})
	})
	r.restart()
}

// TestRefusedTagsCloseNoPort changes the protocol of a listener in place and its tags, which AWS refuses, as for a tag
// policy of the organization. The listener has its new protocol, and is not deleted for its tags.
func TestRefusedTagsCloseNoPort(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.ensure(service(tcp53))
	arn := *r.listeners()[53].ListenerArn
	whole := r.elbv2
	r.refuse("AddTags", "ValidationError")
	edit := []func(*v1.Service){udp, annotate(annotation.KeyTags, "team=web")}
	for range 2 {
		if r.try(service(edit...)) == nil {
			t.Fatal("nothing is refused")
		}
		if l := r.listeners()[53]; l.ListenerArn == nil || *l.ListenerArn != arn || l.Protocol != "UDP" {
			t.Errorf("listener %+v, want %s with UDP", l, arn)
		}
	}
	for _, call := range r.log().Mutations() {
		if call.Operation.Name == "DeleteListener" {
			t.Error("the port is closed")
		}
	}
	r.elbv2 = whole
	r.restart()
	r.ensure(service(edit...))
	r.steady(service(edit...))
}
