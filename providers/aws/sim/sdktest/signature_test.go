package sdktest

import (
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func TestSignatures(t *testing.T) {
	c := newClients(t, sim.Options{AccessKeys: []string{"AKIAEXAMPLE"}, Secret: "secret"})
	must(c.ec2.DescribeInstances(t.Context(),
		&ec2.DescribeInstancesInput{Filters: []ec2types.Filter{filter("tag:a b", "c+d/é")}}))(t)
	must(c.elbv2.DescribeLoadBalancers(t.Context(), nil))(t)
	signedWith := func(p aws.CredentialsProvider) aws.Config {
		return aws.Config{Region: "us-west-2", BaseEndpoint: aws.String("http://aws.invalid"), Credentials: p,
			HTTPClient: &http.Client{Transport: c.cloud.Front().Transport()},
			Retryer:    func() aws.Retryer { return aws.NopRetryer{} }}
	}
	wrong := signedWith(credentials.NewStaticCredentialsProvider("AKIAEXAMPLE", "guess", ""))
	_, err := ec2.NewFromConfig(wrong).DescribeVpcs(t.Context(), nil)
	wantCode(t, err, "AuthFailure", 401)
	_, err = elbv2.NewFromConfig(wrong).DescribeLoadBalancers(t.Context(), nil)
	wantCode(t, err, "SignatureDoesNotMatch", 403)
	role := must(c.sts.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: ptr("arn:aws:iam::123456789012:role/ccm"),
		RoleSessionName: ptr("session")}))(t).Credentials
	session := signedWith(credentials.NewStaticCredentialsProvider(*role.AccessKeyId, *role.SecretAccessKey,
		*role.SessionToken))
	must(ec2.NewFromConfig(session).DescribeVpcs(t.Context(), nil))(t)
}

// TestRequestsOfSkewedClientsAreRejected checks that a client corrects its clock by the dates of responses, as the SDK does.
func TestRequestsOfSkewedClientsAreRejected(t *testing.T) {
	for name, skew := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			c := newClients(t, sim.Options{Skew: skew})
			_, err := c.ec2.DescribeVpcs(t.Context(), nil)
			wantCode(t, err, "RequestExpired", 400)
			must(c.ec2.DescribeVpcs(t.Context(), nil))(t)
			_, err = c.elbv2.DescribeLoadBalancers(t.Context(), nil)
			wantCode(t, err, "SignatureDoesNotMatch", 403)
			must(c.elbv2.DescribeLoadBalancers(t.Context(), nil))(t)
		})
	}
}
