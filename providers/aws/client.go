package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
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
)

const (
	// sessionName is what AWS' logs call the sessions of the assumed role.
	sessionName = "unified-ccm"
	// sessionTime is the shortest that STS grants, so that a role that is taken away soon has no effect any more.
	sessionTime = 15 * time.Minute
	// credentialsAge is how long before they expire credentials are renewed: longer than any call
	// with all its retries, so that none is signed with credentials that expire on the way.
	credentialsAge = 4 * time.Minute
)

// clients are the SDK's clients for one region. They share one transport and one cache of
// credentials. Their errors carry a class of package cloudapi.
type clients struct {
	ec2   api.EC2
	elb   api.ELB
	elbv2 api.ELBV2
	sts   api.STS
}

// connection is the way to AWS: the transport, the metadata service, and what clients are made of.
// It is safe for concurrent use.
type connection struct {
	config      *Config
	clock       clock.Clock
	credentials aws.CredentialsProvider
	legacy      *legacyMetrics
	// attempts of each call; 0 is the default. Tests whose clock stands still make one.
	attempts int
	// health is what the requests so far have shown.
	health *cloudapi.Health

	http *http.Client
	base *cloudapi.Switchable
	imds *imds.Client

	mu    sync.Mutex
	ready bool
	sts   *sts.Client
}

// connectionOptions configure newConnection. Config and Clock are needed.
type connectionOptions struct {
	Config *Config
	// Transport sends all requests; nil is a transport of our own.
	Transport http.RoundTripper
	Clock     clock.Clock
	// Credentials sign all requests but those of a role; nil is the SDK's default chain.
	Credentials aws.CredentialsProvider
}

// newConnection makes no call and reads no file.
func newConnection(o connectionOptions) *connection {
	c := &connection{config: o.Config, clock: o.Clock, credentials: o.Credentials, health: cloudapi.NewHealth(o.Clock), base: &cloudapi.Switchable{}}
	if o.Config.Global.LegacyMetrics {
		c.legacy = newLegacyMetrics()
	}
	if o.Transport != nil {
		c.base.Set(o.Transport)
	}
	c.http = &http.Client{
		Transport: newTransport(c.base, o.Clock, c.answered),
		// A redirect would carry credentials to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	options := imds.Options{HTTPClient: c.http, Retryer: aws.NopRetryer{}, APIOptions: c.middleware(imds.ServiceID)}
	if o := o.Config.override(serviceIMDS, ""); o != nil {
		options.Endpoint = o.URL
	}
	c.imds = imds.New(options)
	return c
}

// answered is told of every attempt.
func (c *connection) answered(call cloudapi.Call) {
	observe(c.health, call)
	c.legacy.answered(call)
}

// load reads the SDK's environment variables and files. It makes no call; credentials are fetched when they are first needed.
func (c *connection) load(ctx context.Context, region string) (aws.Config, error) {
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithRegion(region),
		// The middleware retries, by the class of errors and the injected clock.
		awsconfig.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }),
		awsconfig.WithAPIOptions(c.middleware("")),
		awsconfig.WithCredentialsCacheOptions(cacheOptions),
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
	if !c.base.Known() {
		// The SDK's own client knows the certificates of AWS_CA_BUNDLE.
		own, ok := cfg.HTTPClient.(*awshttp.BuildableClient)
		if !ok {
			own = awshttp.NewBuildableClient()
		}
		c.base.Set(own.GetTransport())
	}
	cfg.HTTPClient = c.http
	return cfg, nil
}

func cacheOptions(o *aws.CredentialsCacheOptions) {
	o.ExpiryWindow = credentialsAge
	// Not all managers of a fleet that was started at once ask STS at once.
	o.ExpiryWindowJitterFrac = 0.5
}

// metadata returns the client of the instance metadata service.
func (c *connection) metadata(ctx context.Context) (*imds.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ready {
		if _, err := c.load(ctx, c.config.region()); err != nil {
			return nil, err
		}
		c.ready = true
	}
	return c.imds, nil
}

// connect returns the clients for a region. It makes no call.
func (c *connection) connect(ctx context.Context, region string) (*clients, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cfg, err := c.load(ctx, region)
	if err != nil {
		return nil, err
	}
	c.ready = true
	c.sts = sts.NewFromConfig(cfg, c.atSTS(region))
	if role := c.config.Global.RoleARN; role != "" {
		assume := sts.NewFromConfig(cfg, c.atSTS(region), c.confusedDeputy())
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(assume, role, func(o *stscreds.AssumeRoleOptions) {
			o.Duration, o.RoleSessionName = sessionTime, sessionName
		}), cacheOptions)
	}
	cfg.Credentials = watchedCredentials{cfg.Credentials, c.health}
	return &clients{
		ec2:   ec2.NewFromConfig(cfg, c.atEC2(region)),
		elb:   elb.NewFromConfig(cfg, c.atELB(region)),
		elbv2: elbv2.NewFromConfig(cfg, c.atELBV2(region)),
		sts:   sts.NewFromConfig(cfg, c.atSTS(region)),
	}, nil
}

// webIdentity lets the SDK's default chain exchange a Pod's token through our client of STS, which
// exists only after the chain does.
type webIdentity struct{ c *connection }

var _ stscreds.AssumeRoleWithWebIdentityAPIClient = webIdentity{}

// AssumeRoleWithWebIdentity implements stscreds.AssumeRoleWithWebIdentityAPIClient.
func (w webIdentity) AssumeRoleWithWebIdentity(ctx context.Context, in *sts.AssumeRoleWithWebIdentityInput, opts ...func(*sts.Options)) (*sts.AssumeRoleWithWebIdentityOutput, error) {
	w.c.mu.Lock()
	client := w.c.sts
	w.c.mu.Unlock()
	if client == nil {
		return nil, errors.New("credentials are asked for before the region is known")
	}
	return client.AssumeRoleWithWebIdentity(ctx, in, opts...)
}

// profileRole lets the SDK assume the role of a profile through our transport and to our endpoint
// of STS. The SDK's own client alone has the credentials of the profile that the role is assumed from.
type profileRole struct {
	c      *connection
	sdk    stscreds.AssumeRoleAPIClient
	region string
}

var _ stscreds.AssumeRoleAPIClient = profileRole{}

// AssumeRole implements stscreds.AssumeRoleAPIClient.
func (p profileRole) AssumeRole(ctx context.Context, in *sts.AssumeRoleInput, opts ...func(*sts.Options)) (*sts.AssumeRoleOutput, error) {
	ours := func(o *sts.Options) {
		o.HTTPClient = p.c.http
		p.c.atSTS(p.region)(o)
	}
	return p.sdk.AssumeRole(ctx, in, append(opts, ours)...)
}
