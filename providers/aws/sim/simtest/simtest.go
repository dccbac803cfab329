// Package simtest has shared helpers of tests: a simulated cloud with clients of the SDK in the same process,
// and a transport that records requests.
package simtest

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// Config returns the SDK configuration of clients in process with a cloud. They do not retry, so that tests
// see each call.
func Config(cloud *sim.Cloud) aws.Config {
	return aws.Config{
		Region: cloud.Region(), BaseEndpoint: aws.String("http://aws.invalid"),
		Credentials: credentials.NewStaticCredentialsProvider("AKIAEXAMPLE", "secret", ""),
		HTTPClient:  &http.Client{Transport: cloud.Front().Transport()},
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} },
	}
}
