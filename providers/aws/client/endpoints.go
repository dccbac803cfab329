package client

import (
	"context"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/auth"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/unified-ccm/unified-ccm/providers/aws/api"
)

// Endpoints of [ServiceOverride] take precedence over those of environment variables (AWS_ENDPOINT_URL
// and its variants for one service), which the SDK reads itself.

func (c *Client) ec2Options(region string) func(*ec2.Options) {
	e := c.endpoint(api.ServiceEC2, "ec2", region)
	return func(o *ec2.Options) {
		if e != nil {
			o.BaseEndpoint, o.EndpointResolverV2 = nil, ec2Endpoint{e}
		}
	}
}

func (c *Client) elbOptions(region string) func(*elb.Options) {
	e := c.endpoint(api.ServiceELB, "elasticloadbalancing", region)
	return func(o *elb.Options) {
		if e != nil {
			o.BaseEndpoint, o.EndpointResolverV2 = nil, elbEndpoint{e}
		}
	}
}

func (c *Client) elbv2Options(region string) func(*elbv2.Options) {
	e := c.endpoint(api.ServiceELBV2, "elasticloadbalancing", region)
	return func(o *elbv2.Options) {
		if e != nil {
			o.BaseEndpoint, o.EndpointResolverV2 = nil, elbv2Endpoint{e}
		}
	}
}

func (c *Client) stsOptions(region string) func(*sts.Options) {
	e := c.endpoint(api.ServiceSTS, "sts", region)
	return func(o *sts.Options) {
		if e != nil {
			o.BaseEndpoint, o.EndpointResolverV2 = nil, stsEndpoint{e}
		}
	}
}

// endpoint is a configured endpoint. The SDK requires a resolver of its own type for each service.
type endpoint struct{ resolved smithyendpoints.Endpoint }

type (
	ec2Endpoint   struct{ *endpoint }
	elbEndpoint   struct{ *endpoint }
	elbv2Endpoint struct{ *endpoint }
	stsEndpoint   struct{ *endpoint }
)

var (
	_ ec2.EndpointResolverV2   = ec2Endpoint{}
	_ elb.EndpointResolverV2   = elbEndpoint{}
	_ elbv2.EndpointResolverV2 = elbv2Endpoint{}
	_ sts.EndpointResolverV2   = stsEndpoint{}
)

// ResolveEndpoint implements ec2.EndpointResolverV2.
func (e ec2Endpoint) ResolveEndpoint(context.Context, ec2.EndpointParameters) (smithyendpoints.Endpoint, error) {
	return e.resolved, nil
}

// ResolveEndpoint implements elasticloadbalancing.EndpointResolverV2.
func (e elbEndpoint) ResolveEndpoint(context.Context, elb.EndpointParameters) (smithyendpoints.Endpoint, error) {
	return e.resolved, nil
}

// ResolveEndpoint implements elasticloadbalancingv2.EndpointResolverV2.
func (e elbv2Endpoint) ResolveEndpoint(context.Context, elbv2.EndpointParameters) (smithyendpoints.Endpoint, error) {
	return e.resolved, nil
}

// ResolveEndpoint implements sts.EndpointResolverV2.
func (e stsEndpoint) ResolveEndpoint(context.Context, sts.EndpointParameters) (smithyendpoints.Endpoint, error) {
	return e.resolved, nil
}

// endpoint returns the configured endpoint of a service, or nil. signingName is the service's own.
func (c *Client) endpoint(s api.Service, signingName, region string) *endpoint {
	o := c.config.Override(s, region)
	if o == nil {
		return nil
	}
	u, err := url.Parse(o.URL)
	if err != nil { // validation rejects such URLs
		return nil
	}
	if o.SigningName != "" {
		signingName = o.SigningName
	}
	var signer, properties smithy.Properties
	smithyhttp.SetSigV4SigningName(&signer, signingName)
	smithyhttp.SetSigV4SigningRegion(&signer, o.SigningRegion)
	auth.SetAuthOptions(&properties, []*auth.Option{{SchemeID: auth.SchemeIDSigV4, SignerProperties: signer}})
	return &endpoint{smithyendpoints.Endpoint{URI: *u, Properties: properties}}
}

// confusedDeputyHeaders sets the headers that the trust policy of a role checks to prevent the confused
// deputy problem.
func (c *Client) confusedDeputyHeaders() func(*sts.Options) {
	g := c.config.Global
	return func(o *sts.Options) {
		if parts := strings.Split(g.RoleARN, ":"); len(parts) > 4 {
			o.APIOptions = append(o.APIOptions, setHeader("x-amz-source-account", parts[4]))
		}
		if g.SourceARN != "" {
			o.APIOptions = append(o.APIOptions, setHeader("x-amz-source-arn", g.SourceARN))
		}
	}
}

// setHeader sets a header before the request is signed.
func setHeader(name, value string) func(*middleware.Stack) error {
	return func(s *middleware.Stack) error {
		set := func(
			ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler,
		) (middleware.BuildOutput, middleware.Metadata, error) {
			if r, ok := in.Request.(*smithyhttp.Request); ok {
				r.Header.Set(name, value)
			}
			return next.HandleBuild(ctx, in)
		}
		return s.Build.Add(middleware.BuildMiddlewareFunc("Header "+name, set), middleware.After)
	}
}
