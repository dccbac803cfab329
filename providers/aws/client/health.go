package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
)

// Conditions that every part of the provider needs beside its services. Responses of the services do not
// show them: without credentials no request is sent. Errors of STS and of the metadata service appear
// in the reasons of these conditions.
const (
	// conditionIdentity: region, VPC and cluster are known.
	conditionIdentity = "identity"
	// conditionCredentials: credentials to sign requests with are available.
	conditionCredentials = "credentials"
	// conditionCaller: AWS accepts the credentials.
	conditionCaller = "caller"
)

// noInstance is an ID that no instance has.
const noInstance = "i-00000000000000000"

// partServices are the services that a part of the provider needs.
type partServices struct {
	part     string
	services []api.Service
}

// parts returns the parts of the provider with their services.
func parts() []partServices {
	return []partServices{
		{provider.PartNodes, []api.Service{api.ServiceEC2}},
		{provider.PartLoadBalancers, []api.Service{api.ServiceEC2, api.ServiceELB, api.ServiceELBV2}},
		{provider.PartRoutes, []api.Service{api.ServiceEC2}},
	}
}

// conditionAllowed names the condition that a part has the permissions for its calls of a service. IAM
// permissions are per action, so a denial for one part does not affect the others.
func conditionAllowed(s api.Service, part string) string { return string(s) + " for " + part }

// callers returns the parts that call an operation.
func callers(s api.Service, operation string) []string {
	switch {
	case s != api.ServiceEC2:
		return []string{provider.PartLoadBalancers}
	case operation == "DescribeRouteTables":
		return []string{provider.PartLoadBalancers, provider.PartRoutes}
	case strings.HasSuffix(operation, "Route") || operation == "ModifyInstanceAttribute":
		return []string{provider.PartRoutes}
	case strings.Contains(operation, "SecurityGroup") || operation == "DescribeSubnets":
		return []string{provider.PartLoadBalancers}
	default:
		return []string{provider.PartNodes}
	}
}

// observe updates the conditions after an attempt of a call.
func observe(h *cloudapi.Health, call cloudapi.Call) {
	s := api.Service(call.Service)
	if s != api.ServiceEC2 && s != api.ServiceELB && s != api.ServiceELBV2 {
		return
	}
	if call.Class != cloudapi.Denied {
		h.Observe(call)
	}
	for _, part := range callers(s, call.Operation) {
		call.Service = conditionAllowed(s, part)
		h.Observe(call)
	}
}

// SetIdentityError records whether region, VPC and cluster are known: err is nil if they are.
func (c *Client) SetIdentityError(err error) { c.health.Set(conditionIdentity, err) }

// Health returns the health of each part of the provider.
func (c *Client) Health() []provider.PartHealth {
	var out []provider.PartHealth
	for _, p := range parts() {
		conditions := []string{conditionIdentity, conditionCredentials, conditionCaller}
		for _, s := range p.services {
			conditions = append(conditions, string(s), conditionAllowed(s, p.part))
		}
		since, err := c.health.Err(conditions...)
		out = append(out, provider.PartHealth{Part: p.part, Err: err, Since: since})
	}
	return out
}

// Check verifies the credentials with GetCallerIdentity, which needs no permission, so that a denial is
// about the credentials themselves, and probes the services that failed before. Where STS cannot be
// reached it probes all services instead.
func (c *Client) Check(ctx context.Context, clients *Clients) error {
	stsErr, denied := c.checkCaller(ctx, clients)
	if denied != nil {
		return denied
	}
	if err := c.probe(ctx, clients, stsErr != nil); err != nil {
		return errors.Join(stsErr, err)
	}
	return nil
}

// checkCaller returns denied, of class Denied, if AWS rejects the credentials, and stsErr if STS cannot
// be reached.
func (c *Client) checkCaller(ctx context.Context, clients *Clients) (stsErr, denied error) {
	// STS may be unreachable, for example from a VPC without its endpoint: half of the time is left for the services.
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	_, err := clients.STS.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	switch {
	case cloudapi.Is(err, cloudapi.Denied):
		denied = &cloudapi.Error{Class: cloudapi.Denied, Operation: "GetCallerIdentity", Err: fmt.Errorf(
			"AWS rejects the credentials%s: %w", c.role(), cloudapi.CauseOf(err))}
	case err != nil:
		stsErr = fmt.Errorf("credentials could not be verified with STS%s: %w", c.role(), err)
	}
	if stsErr == nil {
		c.health.Set(conditionCaller, denied)
	}
	return stsErr, denied
}

// role describes the configured role in messages.
func (c *Client) role() string {
	if role := c.config.Global.RoleARN; role != "" {
		return fmt.Sprintf(" (role %s, RoleARN in section [%s])", role, config.SectionGlobal)
	}
	return ""
}

// probe makes small reads of the services that failed before, or of all of them.
func (c *Client) probe(ctx context.Context, clients *Clients, all bool) error {
	var errs []error
	for _, s := range []api.Service{api.ServiceEC2, api.ServiceELB, api.ServiceELBV2} {
		conditions := []string{string(s)}
		for _, p := range parts() {
			conditions = append(conditions, conditionAllowed(s, p.part))
		}
		if _, err := c.health.Err(conditions...); err != nil || all {
			errs = append(errs, probeService(ctx, clients, s))
		}
	}
	return errors.Join(errs...)
}

// probeService makes the first read of each part that uses the service, limited to one page.
func probeService(ctx context.Context, clients *Clients, s api.Service) error {
	var err error
	switch s {
	case api.ServiceEC2:
		limit := aws.Int32(5) // the minimum of EC2
		// A filter, since a call by ID fails for an unknown ID.
		_, instancesErr := clients.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{
			Filters: []ec2types.Filter{api.Filter("instance-id", noInstance)}, MaxResults: limit,
		})
		_, tablesErr := clients.EC2.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{MaxResults: limit})
		_, groupsErr := clients.EC2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{MaxResults: limit})
		err = errors.Join(instancesErr, tablesErr, groupsErr)
	case api.ServiceELB:
		_, err = clients.ELB.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{PageSize: aws.Int32(1)})
	case api.ServiceELBV2:
		_, err = clients.ELBV2.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{PageSize: aws.Int32(1)})
	}
	return err
}

// observedCredentials records whether credentials are available.
type observedCredentials struct {
	aws.CredentialsProvider
	health *cloudapi.Health
}

// Retrieve implements aws.CredentialsProvider.
func (o observedCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	credentials, err := o.CredentialsProvider.Retrieve(ctx)
	switch {
	case err == nil:
		o.health.Set(conditionCredentials, nil)
	case ctx.Err() == nil: // a cancellation does not depend on the credentials
		o.health.Set(conditionCredentials, fmt.Errorf("no AWS credentials to sign requests with: %w", cloudapi.CauseOf(err)))
	}
	return credentials, err
}
