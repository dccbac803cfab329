package aws

import (
	"cmp"
	"context"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/component-base/version"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

const (
	// callTimeout bounds a call with all its attempts and waits, where the caller sets no earlier
	// deadline. It leaves room for two attempts that time out.
	callTimeout = 90 * time.Second
	// metadataCallTimeout is the same for the metadata service.
	metadataCallTimeout = 10 * time.Second
	// metadataAttempts are few, because where there is no metadata service every attempt takes its whole time.
	metadataAttempts = 2
	// metadataOperation is what calls of the metadata service are called, whose client names none.
	metadataOperation = "GetMetadata"
)

// middleware is what the SDK's clients do around each call: name the manager in the user agent,
// bound the time, sort errors into classes, and retry by class. serviceID is the SDK's ID of the
// service for clients that do not name it themselves.
func (c *connection) middleware(serviceID string) []func(*middleware.Stack) error {
	calls := &calls{serviceID: serviceID, connection: c}
	return []func(*middleware.Stack) error{
		awsmiddleware.AddUserAgentKeyValue("unified-ccm", version.Get().GitVersion),
		func(s *middleware.Stack) error { return s.Initialize.Add(calls, middleware.Before) },
	}
}

// calls is the outermost middleware of every client. The SDK's own retries are off: they know
// neither classes nor the injected clock.
type calls struct {
	serviceID  string
	connection *connection
}

var _ middleware.InitializeMiddleware = (*calls)(nil)

// ID implements middleware.InitializeMiddleware.
func (*calls) ID() string { return "UnifiedCCMCalls" }

// HandleInitialize implements middleware.InitializeMiddleware. Each attempt goes through the whole
// stack again, so that it is signed anew, by the time and the credentials of that moment.
func (c *calls) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	out middleware.InitializeOutput, metadata middleware.Metadata, err error,
) {
	req := request(cmp.Or(c.serviceID, middleware.GetServiceID(ctx)), cmp.Or(middleware.GetOperationName(ctx), metadataOperation))
	retry, timeout := cloudapi.Retry{Clock: c.connection.clock, Attempts: c.connection.attempts}, callTimeout
	if req.Service == string(serviceIMDS) {
		retry.Attempts, timeout = cmp.Or(retry.Attempts, metadataAttempts), metadataCallTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := retry.Clock.Now()
	skewed := false
	for again := true; again; {
		err = retry.Do(ctx, req, func(ctx context.Context) error {
			var failed error
			out, metadata, failed = next.HandleInitialize(ctx, in)
			return awserr.Wrap(req.Operation, failed)
		})
		// The refusal has told the SDK how wrong our clock is.
		again, skewed = !skewed && isSkew(err), true
	}
	c.connection.legacy.called(req, retry.Clock.Since(start), err)
	return out, metadata, err
}

// isSkew says whether AWS refused a signature in a way in which it does when clocks differ.
func isSkew(err error) bool {
	return awserr.Is(err, "RequestExpired", "RequestInTheFuture", "RequestTimeTooSkewed", "SignatureDoesNotMatch", "InvalidSignatureException")
}
