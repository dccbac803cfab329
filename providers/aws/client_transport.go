package aws

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
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

const (
	// attemptTimeout bounds one request: reads of a full page take a second or two, and a request
	// that has had no answer for this long will not get one.
	attemptTimeout = 30 * time.Second
	// metadataTimeout is the same for the metadata service, which answers from the same machine
	// within milliseconds, or not at all where there is none.
	metadataTimeout = 3 * time.Second
	// slowAnswer is the time after which an answer's date says more about the network than about
	// clocks: the SDK signs later requests by it, and AWS refuses signatures that are 5 minutes off.
	slowAnswer = 5 * time.Second
	// errorBodyLimit is how much of an answer is looked at for an error: codes and messages are short.
	errorBodyLimit = 64 << 10
	// requestIDHeader is the header by which AWS' support finds a request. EC2 calls it so, and the
	// other services call it so in one of two headers.
	requestIDHeader = "X-Amzn-Requestid"
)

// limits are the rates to which the manager keeps by itself, however large the account's buckets are.
// Those of EC2 are the ones that AWS publishes for most reads (100 at once, 20 a second) and changes (50 and
// 5), there for each operation, here for all together. Those of Elastic Load Balancing are higher than AWS'
// own (40 and 10 for reads, 20 and 3 for changes, fewer for some): AWS grants more to those who ask, and
// with its own a restart with 200 load balancers would take more than a minute also for them. Where AWS has not
// granted more it throttles, and patient keeps to what AWS publishes.
func limits() cloudapi.Limits {
	balancers := cloudapi.ServiceLimits{Read: cloudapi.Limit{QPS: 100, Burst: 200}, Mutate: cloudapi.Limit{QPS: 10, Burst: 100}}
	return cloudapi.Limits{
		ObeyRetryAfter: true,
		Services: map[string]cloudapi.ServiceLimits{
			string(serviceEC2):   {Read: cloudapi.Limit{QPS: 20, Burst: 100}, Mutate: cloudapi.Limit{QPS: 5, Burst: 50}},
			string(serviceELB):   balancers,
			string(serviceELBv2): balancers,
		},
	}
}

// newTransport is what all clients send through. It tells observe of every attempt.
func newTransport(base http.RoundTripper, c clock.Clock, observe func(cloudapi.Call)) http.RoundTripper {
	return &undated{cloudapi.NewTransport(cloudapi.TransportOptions{
		Provider:        ProviderName,
		Base:            &patient{base: &bounded{&genuine{base}}, clock: c},
		Describe:        describe,
		Limits:          limits(),
		Clock:           c,
		Classify:        classify,
		RequestIDHeader: requestIDHeader,
		Observe:         observe,
	})}
}

// metadataPath begins the paths of the metadata service, and of no other.
const metadataPath = "/latest/"

// describe names a request by what the SDK's client left in its context, and one to the metadata
// service, whose client leaves nothing, by its path.
func describe(r *http.Request) cloudapi.Request {
	switch {
	case !strings.HasPrefix(r.URL.Path, metadataPath):
	case r.Method == http.MethodPut:
		return request(imds.ServiceID, "GetToken")
	default:
		return request(imds.ServiceID, metadataOperation)
	}
	return request(middleware.GetServiceID(r.Context()), middleware.GetOperationName(r.Context()))
}

// request describes an operation. All changes lead to the same state when they are made twice,
// because what they make has a unique name or says which object it is part of; where AWS answers
// the second time that it exists or is gone, the caller looks.
func request(serviceID, operation string) cloudapi.Request {
	mutating := !strings.HasPrefix(operation, "Describe") && !strings.HasPrefix(operation, "Get") &&
		!strings.HasPrefix(operation, "AssumeRole") && serviceOf(serviceID) != serviceIMDS
	return cloudapi.Request{Service: string(serviceOf(serviceID)), Operation: operation, Mutating: mutating, Idempotent: mutating}
}

// serviceOf is the name of a service for metrics and limits.
func serviceOf(serviceID string) service {
	switch serviceID {
	case ec2.ServiceID:
		return serviceEC2
	case elb.ServiceID:
		return serviceELB
	case elbv2.ServiceID:
		return serviceELBv2
	case sts.ServiceID:
		return serviceSTS
	case imds.ServiceID:
		return serviceIMDS
	default:
		// A credential provider of the SDK's default chain.
		return "credentials"
	}
}

// codeInBody finds the code in the answers of the query protocol, whose forms differ from service to service.
var codeInBody = regexp.MustCompile(`<Code>([A-Za-z0-9._]+)</Code>`)

// classify is the transport's view of an answer, for metrics and rate limits.
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

// undated removes the date of slow answers, so that no skew of clocks is concluded from them.
type undated struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper. It measures what the SDK does, waiting for a rate limit included.
func (u *undated) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	resp, err := u.base.RoundTrip(r)
	if err == nil && time.Since(start) > slowAnswer {
		resp.Header.Del("Date")
	}
	return resp, err
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the base.
func (u *undated) CloseIdleConnections() { cloudapi.CloseIdle(u.base) }

// bounded gives each request, and the reading of its answer, a time limit of its own.
type bounded struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	timeout := attemptTimeout
	if describe(r).Service == string(serviceIMDS) {
		timeout = metadataTimeout
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	resp, err := b.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &releasing{resp.Body, cancel}
	return resp, nil
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the base.
func (b *bounded) CloseIdleConnections() { cloudapi.CloseIdle(b.base) }

// releasing ends a request's time limit when its answer has been read.
type releasing struct {
	io.ReadCloser
	release func()
}

// Close implements io.Closer.
func (r *releasing) Close() error {
	defer r.release()
	return r.ReadCloser.Close()
}
