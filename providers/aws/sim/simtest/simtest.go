// Package simtest holds what tests share: a simulated cloud with clients of the SDK in process with it, and a transport
// that records requests.
package simtest

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// Config returns what clients of the SDK are made from that are in process with a cloud. They repeat no
// call, so that tests see each one.
func Config(cloud *sim.Cloud) aws.Config {
	return aws.Config{
		Region: cloud.Region(), BaseEndpoint: aws.String("http://aws.invalid"),
		Credentials: credentials.NewStaticCredentialsProvider("AKIAEXAMPLE", "secret", ""),
		HTTPClient:  &http.Client{Transport: cloud.Front().Transport()},
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} },
	}
}
