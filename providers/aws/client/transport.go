package client

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

const (
	// attemptTimeout bounds one request. Reads of a full page take a second or two.
	attemptTimeout = 30 * time.Second
	// metadataTimeout is the same for the metadata service, which runs on the same host and answers
	// within milliseconds if it exists.
	metadataTimeout = 3 * time.Second
	// staleDateAfter is the duration of a request after which the Date of its response is stale. The
	// SDK corrects its clock by that header, and AWS rejects signatures that are off by 5 minutes.
	staleDateAfter = 5 * time.Second
	// errorBodyLimit bounds the bytes that are searched for an error code.
	errorBodyLimit = 64 << 10
	// requestIDHeader contains the ID that AWS support needs. All services send it.
	requestIDHeader = "X-Amzn-Requestid"
)

const (
	// CallTimeout bounds a call with all its attempts and waits, unless the caller sets an earlier
	// deadline. It leaves time for two attempts that time out.
	CallTimeout = 90 * time.Second
	// metadataCallTimeout is the same for the metadata service.
	metadataCallTimeout = 10 * time.Second
	// metadataAttempts is low, because without a metadata service every attempt runs into its timeout.
	metadataAttempts = 2
	// metadataOperation names calls of the metadata service: its client sets no operation name.
	metadataOperation = "GetMetadata"
)

// rateLimits returns the static rate limits, which apply however large the account's buckets are. Those
// of EC2 are the ones that AWS publishes for most reads (burst 100, 20 per second) and changes (50 and 5):
// AWS applies them to each operation, the manager to all operations together. Those of Elastic Load
// Balancing are higher than AWS' defaults (40 and 10 for reads, 20 and 3 for changes, lower for some):
// AWS raises its limits on request, and with the defaults a restart with 200 load balancers would take
// more than a minute in such accounts too. In other accounts adaptiveLimiter keeps to AWS' defaults.
func rateLimits() cloudapi.Limits {
	ec2 := cloudapi.ServiceLimits{Read: cloudapi.Limit{QPS: 20, Burst: 100}, Mutate: cloudapi.Limit{QPS: 5, Burst: 50}}
	elb := cloudapi.ServiceLimits{Read: cloudapi.Limit{QPS: 100, Burst: 200}, Mutate: cloudapi.Limit{QPS: 10, Burst: 100}}
	return cloudapi.Limits{
		ObeyRetryAfter: true,
		Services: map[string]cloudapi.ServiceLimits{
			string(api.ServiceEC2):   ec2,
			string(api.ServiceELB):   elb,
			string(api.ServiceELBV2): elb,
		},
	}
}

// metadataPath is the prefix of the paths of the metadata service, and of no other service.
const metadataPath = "/latest/"

// describe returns the service and operation of a request: from its context, or from its path for the
// metadata service, because that client stores nothing in the context.
func describe(r *http.Request) cloudapi.Request {
	switch {
	case !strings.HasPrefix(r.URL.Path, metadataPath):
		return newRequest(middleware.GetServiceID(r.Context()), middleware.GetOperationName(r.Context()))
	case r.Method == http.MethodPut:
		return newRequest(imds.ServiceID, "GetToken")
	default:
		return newRequest(imds.ServiceID, metadataOperation)
	}
}

// newRequest describes an operation. All changes are idempotent: created objects have a unique name or
// belong to a named object, and callers handle "already exists" and "not found" of a second attempt.
func newRequest(serviceID, operation string) cloudapi.Request {
	mutating := !strings.HasPrefix(operation, "Describe") && !strings.HasPrefix(operation, "Get") &&
		!strings.HasPrefix(operation, "AssumeRole") && serviceOf(serviceID) != api.ServiceIMDS
	return cloudapi.Request{
		Service: string(serviceOf(serviceID)), Operation: operation, Mutating: mutating, Idempotent: mutating,
	}
}

// serviceOf maps the SDK's ID of a service to its name in metrics and rate limits.
func serviceOf(serviceID string) api.Service {
	switch serviceID {
	case ec2.ServiceID:
		return api.ServiceEC2
	case elb.ServiceID:
		return api.ServiceELB
	case elbv2.ServiceID:
		return api.ServiceELBV2
	case sts.ServiceID:
		return api.ServiceSTS
	case imds.ServiceID:
		return api.ServiceIMDS
	default:
		// A credentials provider of the SDK's default chain.
		return "credentials"
	}
}

// codeInBody matches the error code in responses of the query protocol. Their formats differ by service.
var codeInBody = regexp.MustCompile(`<Code>([A-Za-z0-9._]+)</Code>`)

// classify returns the class of a response, for metrics and rate limits.
func classify(resp *http.Response, err error) cloudapi.Class {
	if err != nil || resp.StatusCode < http.StatusMultipleChoices {
		return cloudapi.ClassifyStatus(resp, err)
	}
	if code := codeInBody.FindSubmatch(cloudapi.PeekResponse(resp, errorBodyLimit)); code != nil {
		if class := awserr.ClassOfCode(string(code[1])); class != "" {
			return class
		}
	}
	return awserr.ClassOfStatus(resp.StatusCode)
}

// staleDateStripper removes the Date of slow responses, so that the SDK does not derive clock skew from it.
type staleDateStripper struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper. Like the SDK, it measures the waits for rate limits too.
func (s *staleDateStripper) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	resp, err := s.base.RoundTrip(r)
	if err == nil && time.Since(start) > staleDateAfter {
		resp.Header.Del("Date")
	}
	return resp, err
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the base.
func (s *staleDateStripper) CloseIdleConnections() { cloudapi.CloseIdleConnections(s.base) }

// attemptDeadline bounds each request, including the read of the response body.
type attemptDeadline struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d *attemptDeadline) RoundTrip(r *http.Request) (*http.Response, error) {
	timeout := attemptTimeout
	if describe(r).Service == string(api.ServiceIMDS) {
		timeout = metadataTimeout
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	r = r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = readCloser{r.Body}
	}
	resp, err := d.base.RoundTrip(r)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &cancelOnClose{resp.Body, cancel}
	return resp, nil
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the base.
func (d *attemptDeadline) CloseIdleConnections() { cloudapi.CloseIdleConnections(d.base) }

// readCloser hides WriteTo of the SDK's request bodies, which returns io.EOF once the SDK has closed the body: net/http
// takes that for a failed write if the response was faster than the end of the write, closes the connection, and the
// rest of a long response is lost. For Read, net/http expects io.EOF at the end.
type readCloser struct{ io.ReadCloser }

// cancelOnClose cancels the context of a request when its response body is closed.
type cancelOnClose struct {
	io.ReadCloser
	cancel func()
}

// Close implements io.Closer.
func (c *cancelOnClose) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}
