// Package client makes the SDK's clients: credentials, endpoints, timeouts, retries, rate limits and
// metrics, the same for all of them.
package client

import (
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
)

// Clients are the SDK's clients for one region. They share a transport and a credentials cache.
// Their errors carry a class of package cloudapi.
type Clients struct {
	EC2   api.EC2
	ELB   api.ELB
	ELBV2 api.ELBV2
	STS   api.STS
}

// Client connects to AWS. It is safe for concurrent use.
type Client struct {
	config      *config.Config
	clock       clock.Clock
	credentials aws.CredentialsProvider
	legacy      *LegacyMetrics
	attempts    int
	health      *cloudapi.Health

	http *http.Client
	base *cloudapi.SwitchableTransport
	imds *imds.Client

	mu     sync.Mutex
	loaded bool
	sts    *sts.Client
}

// LegacyMetrics returns the metrics of other managers, nil unless the configuration enables them.
func (c *Client) LegacyMetrics() *LegacyMetrics { return c.legacy }
