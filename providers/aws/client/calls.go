package client

import (
	"cmp"
	"context"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/component-base/version"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

// middleware returns the middleware of the SDK's clients. It sets the user agent, bounds the time of a
// call, classifies errors, and retries by class. serviceID is the SDK's ID of the service for clients
// that do not set it themselves.
func (c *Client) middleware(serviceID string) []func(*middleware.Stack) error {
	calls := &callMiddleware{serviceID: serviceID, client: c}
	return []func(*middleware.Stack) error{
		awsmiddleware.AddUserAgentKeyValue("unified-ccm", version.Get().GitVersion),
		func(s *middleware.Stack) error { return s.Initialize.Add(calls, middleware.Before) },
	}
}

// callMiddleware is the outermost middleware of every client. The SDK's own retries are off: they use
// neither our error classes nor the injected clock.
type callMiddleware struct {
	serviceID string
	client    *Client
}

var _ middleware.InitializeMiddleware = (*callMiddleware)(nil)

// ID implements middleware.InitializeMiddleware.
func (*callMiddleware) ID() string { return "UnifiedCCMCalls" }

// HandleInitialize implements middleware.InitializeMiddleware. Each attempt passes the whole stack, so
// that it is signed with the current time and credentials.
func (m *callMiddleware) HandleInitialize(
	ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
	req := newRequest(
		cmp.Or(m.serviceID, middleware.GetServiceID(ctx)), cmp.Or(middleware.GetOperationName(ctx), metadataOperation))
	retry, timeout := cloudapi.Retry{Clock: m.client.clock, Attempts: m.client.attempts}, CallTimeout
	if req.Service == string(api.ServiceIMDS) {
		retry.Attempts, timeout = cmp.Or(retry.Attempts, metadataAttempts), metadataCallTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := retry.Clock.Now()
	call := func() error {
		return retry.Do(ctx, req, func(ctx context.Context) error {
			var callErr error
			out, metadata, callErr = next.HandleInitialize(ctx, in)
			return awserr.Wrap(req.Operation, callErr)
		})
	}
	if err = call(); isClockSkew(err) {
		// The response has AWS' time: the SDK corrects its clock, and signs the second call with it.
		err = call()
	}
	m.client.legacy.observeCall(req, retry.Clock.Since(start), err)
	return out, metadata, err
}

// isClockSkew reports whether AWS rejected a signature with a code that it returns if clocks differ.
func isClockSkew(err error) bool {
	return awserr.Is(err, "RequestExpired", "RequestInTheFuture", "RequestTimeTooSkewed",
		"SignatureDoesNotMatch", "InvalidSignatureException")
}
