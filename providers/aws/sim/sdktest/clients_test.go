// Package sdktest runs the clients of AWS' own SDK against the simulator.
package sdktest

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// clients are the SDK's, in process with a cloud.
type clients struct {
	cloud *sim.Cloud
	ec2   *ec2.Client
	elb   *elasticloadbalancing.Client
	elbv2 *elasticloadbalancingv2.Client
	sts   *sts.Client
}

func newClients(t *testing.T, o sim.Options) *clients {
	t.Helper()
	cloud, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	config := simtest.Config(cloud)
	return &clients{
		cloud: cloud, ec2: ec2.NewFromConfig(config), elb: elasticloadbalancing.NewFromConfig(config),
		elbv2: elasticloadbalancingv2.NewFromConfig(config), sts: sts.NewFromConfig(config),
	}
}

func ptr[T any](v T) *T { return &v }

// must returns the value of a call that has to succeed.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantCode fails unless the error is one of the API with the code and the HTTP status.
func wantCode(t *testing.T, err error, code string, status int) {
	t.Helper()
	var api smithy.APIError
	var response interface{ HTTPStatusCode() int }
	switch {
	case !errors.As(err, &api):
		t.Errorf("error %v, want %s", err, code)
	case api.ErrorCode() != code:
		t.Errorf("error code %s (%s), want %s", api.ErrorCode(), api.ErrorMessage(), code)
	case !errors.As(err, &response) || response.HTTPStatusCode() != status:
		t.Errorf("%s: status is not %d: %v", code, status, err)
	}
}
