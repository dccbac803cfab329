package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

const (
	// sessionName names the sessions of assumed roles in CloudTrail.
	sessionName = "unified-ccm"
	// sessionDuration is the shortest that STS grants, so that a revoked role stops working soon.
	sessionDuration = 15 * time.Minute
	// credentialsExpiryWindow is how long before they expire credentials are renewed: longer than any
	// call with all its retries, so that no request is signed with credentials that expire in flight.
	credentialsExpiryWindow = 4 * time.Minute
)

// Options configure New. Config and Clock are required.
type Options struct {
	Config *config.Config
	// Transport sends all requests; nil is the SDK's own.
	Transport http.RoundTripper
	Clock     clock.Clock
	// Credentials sign all requests but those of an assumed role; nil is the SDK's default chain.
	Credentials aws.CredentialsProvider
	// Attempts limits the attempts of a call; 0 is the default. Tests with a stopped clock need 1.
	Attempts int
}

// New returns a Client. It makes no call and reads no file.
func New(o Options) *Client {
	c := &Client{
		config: o.Config, clock: o.Clock, credentials: o.Credentials, attempts: o.Attempts,
		health: cloudapi.NewHealth(o.Clock), base: &cloudapi.SwitchableTransport{},
	}
	if o.Config.Global.LegacyMetrics {
		c.legacy = newLegacyMetrics()
	}
	if o.Transport != nil {
		c.base.Set(o.Transport)
	}
	c.http = &http.Client{
		Transport: newTransport(c.base, o.Clock, c.observeAttempt),
		// A redirect would send credentials to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	options := imds.Options{HTTPClient: c.http, Retryer: aws.NopRetryer{}, APIOptions: c.middleware(imds.ServiceID)}
	if override := o.Config.Override(api.ServiceIMDS, ""); override != nil {
		options.Endpoint = override.URL
	}
	c.imds = imds.New(options)
	return c
}

// newTransport returns the transport of all clients. It calls observe for every attempt.
func newTransport(base http.RoundTripper, c clock.Clock, observe func(cloudapi.Call)) http.RoundTripper {
	return &staleDateStripper{cloudapi.NewTransport(cloudapi.TransportOptions{
		Provider:        names.Scheme,
		Base:            &adaptiveLimiter{base: &attemptDeadline{&responseValidator{base}}, clock: c},
		Describe:        describe,
		Limits:          rateLimits(),
		Clock:           c,
		Classify:        classify,
		RequestIDHeader: requestIDHeader,
		Observe:         observe,
	})}
}

// observeAttempt records an attempt of a call.
func (c *Client) observeAttempt(call cloudapi.Call) {
	observe(c.health, call)
	c.legacy.observeAttempt(call)
}

// load reads the SDK's environment variables and files. It makes no call; the SDK fetches credentials
// when the first request needs them.
func (c *Client) load(ctx context.Context, region string) (aws.Config, error) {
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithRegion(region),
		// The middleware retries, by the class of errors and the injected clock.
		awsconfig.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }),
		awsconfig.WithAPIOptions(c.middleware("")),
		awsconfig.WithCredentialsCacheOptions(setCacheOptions),
		awsconfig.WithEC2RoleCredentialOptions(func(o *ec2rolecreds.Options) { o.Client = c.imds }),
		awsconfig.WithEndpointCredentialOptions(func(o *endpointcreds.Options) { o.HTTPClient = c.http }),
		awsconfig.WithWebIdentityRoleCredentialOptions(func(o *stscreds.WebIdentityRoleOptions) {
			o.Client = webIdentity{c}
			if o.RoleSessionName == "" {
				o.RoleSessionName = sessionName
			}
		}),
		awsconfig.WithAssumeRoleCredentialOptions(func(o *stscreds.AssumeRoleOptions) {
			o.Client = profileRole{c, o.Client, region}
			if o.RoleSessionName == "" {
				o.RoleSessionName = sessionName
			}
		}),
	}
	if c.credentials != nil {
		options = append(options, awsconfig.WithCredentialsProvider(c.credentials))
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, fmt.Errorf("the AWS SDK's environment variables or shared configuration files: %w", err)
	}
	if !c.base.HasBase() {
		// The SDK's own client trusts the certificates of AWS_CA_BUNDLE.
		sdkClient, ok := cfg.HTTPClient.(*awshttp.BuildableClient)
		if !ok {
			sdkClient = awshttp.NewBuildableClient()
		}
		c.base.Set(sdkClient.GetTransport())
	}
	cfg.HTTPClient = c.http
	return cfg, nil
}

func setCacheOptions(o *aws.CredentialsCacheOptions) {
	o.ExpiryWindow = credentialsExpiryWindow
	// Jitter spreads the calls to STS of managers that were started at the same time.
	o.ExpiryWindowJitterFrac = 0.5
}

// Metadata returns the client of the instance metadata service.
func (c *Client) Metadata(ctx context.Context) (*imds.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.loaded {
		if _, err := c.load(ctx, c.config.Region()); err != nil {
			return nil, err
		}
		c.loaded = true
	}
	return c.imds, nil
}

// Connect returns the clients for a region. It makes no call.
func (c *Client) Connect(ctx context.Context, region string) (*Clients, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cfg, err := c.load(ctx, region)
	if err != nil {
		return nil, err
	}
	c.loaded = true
	c.sts = sts.NewFromConfig(cfg, c.stsOptions(region))
	if role := c.config.Global.RoleARN; role != "" {
		assume := sts.NewFromConfig(cfg, c.stsOptions(region), c.confusedDeputyHeaders())
		provider := stscreds.NewAssumeRoleProvider(assume, role, func(o *stscreds.AssumeRoleOptions) {
			o.Duration, o.RoleSessionName = sessionDuration, sessionName
		})
		cfg.Credentials = aws.NewCredentialsCache(provider, setCacheOptions)
	}
	cfg.Credentials = observedCredentials{cfg.Credentials, c.health}
	return &Clients{
		EC2:   ec2.NewFromConfig(cfg, c.ec2Options(region)),
		ELB:   elb.NewFromConfig(cfg, c.elbOptions(region)),
		ELBV2: elbv2.NewFromConfig(cfg, c.elbv2Options(region)),
		STS:   sts.NewFromConfig(cfg, c.stsOptions(region)),
	}, nil
}

// webIdentity makes the SDK's default chain exchange a Pod's token through our client of STS, which
// is created after the chain.
type webIdentity struct{ c *Client }

var _ stscreds.AssumeRoleWithWebIdentityAPIClient = webIdentity{}

// AssumeRoleWithWebIdentity implements stscreds.AssumeRoleWithWebIdentityAPIClient.
func (w webIdentity) AssumeRoleWithWebIdentity(
	ctx context.Context, in *sts.AssumeRoleWithWebIdentityInput, opts ...func(*sts.Options),
) (*sts.AssumeRoleWithWebIdentityOutput, error) {
	w.c.mu.Lock()
	client := w.c.sts
	w.c.mu.Unlock()
	if client == nil {
		return nil, errors.New("credentials requested before the region is known")
	}
	return client.AssumeRoleWithWebIdentity(ctx, in, opts...)
}

// profileRole makes the SDK assume the role of a profile through our transport and our endpoint of
// STS. Only the SDK's own client has the credentials of the source profile.
type profileRole struct {
	c      *Client
	sdk    stscreds.AssumeRoleAPIClient
	region string
}

var _ stscreds.AssumeRoleAPIClient = profileRole{}

// AssumeRole implements stscreds.AssumeRoleAPIClient.
func (p profileRole) AssumeRole(
	ctx context.Context, in *sts.AssumeRoleInput, opts ...func(*sts.Options),
) (*sts.AssumeRoleOutput, error) {
	setOptions := func(o *sts.Options) {
		o.HTTPClient = p.c.http
		p.c.stsOptions(p.region)(o)
	}
	return p.sdk.AssumeRole(ctx, in, append(opts, setOptions)...)
}
