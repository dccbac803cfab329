package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// What every part of the work needs beside the services that it calls. No request shows these:
// without credentials none is sent. What STS or the metadata service say is in their reasons, since
// nothing else is asked of those two.
const (
	// needIdentity is that region, VPC and cluster are known.
	needIdentity = "identity"
	// needCredentials is that there are credentials to sign with.
	needCredentials = "credentials"
	// needCaller is that AWS accepts them.
	needCaller = "caller"
)

// noInstance is an ID that no instance has.
const noInstance = "i-00000000000000000"

// needs are what a part of the work cannot be done without.
type needs struct {
	part     string
	services []service
}

// work are the parts and the services that they call.
func work() []needs {
	return []needs{
		{provider.PartNodes, []service{serviceEC2}},
		{provider.PartLoadBalancers, []service{serviceEC2, serviceELB, serviceELBv2}},
		{provider.PartRoutes, []service{serviceEC2}},
	}
}

// permitted is what health calls a service as far as one part may call it: permissions are by action,
// so a refusal to one part says nothing about the others.
func permitted(s service, part string) string { return string(s) + " for " + part }

// partsCalling are the parts that make a call.
func partsCalling(s service, operation string) []string {
	switch {
	case s != serviceEC2:
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

// observe lets health learn from one attempt.
func observe(h *cloudapi.Health, call cloudapi.Call) {
	s := service(call.Service)
	if s != serviceEC2 && s != serviceELB && s != serviceELBv2 {
		return
	}
	if call.Class != cloudapi.Denied {
		h.Observe(call)
	}
	for _, part := range partsCalling(s, call.Operation) {
		call.Service = permitted(s, part)
		h.Observe(call)
	}
}

// Health implements provider.HealthReporter.
func (c *Cloud) Health() []provider.PartHealth {
	var out []provider.PartHealth
	for _, n := range work() {
		asked := []string{needIdentity, needCredentials, needCaller}
		for _, s := range n.services {
			asked = append(asked, string(s), permitted(s, n.part))
		}
		since, err := c.connection.health.Err(asked...)
		out = append(out, provider.PartHealth{Part: n.part, Err: err, Since: since})
	}
	return out
}

// Check implements provider.Checker. It finds out which cluster it is, asks STS whose the credentials
// are, one call that needs no permission, so that a refusal means the credentials themselves, and asks
// services again that failed. Where STS cannot be asked, the services' own answers count.
func (c *Cloud) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	p, err := c.parts.Get(ctx)
	if err != nil {
		return err
	}
	unknown, err := c.checkCaller(ctx, p)
	if err != nil {
		return err
	}
	if failed := c.probe(ctx, p.clients, unknown != nil); failed != nil {
		return errors.Join(unknown, failed)
	}
	return nil
}

// checkCaller returns an error of class Denied if AWS refuses the credentials. unknown is why that
// cannot be told.
func (c *Cloud) checkCaller(ctx context.Context, p *parts) (unknown, refused error) {
	// Half of the time is left to ask the services themselves, where STS cannot be reached, as from
	// a VPC without an endpoint of it.
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	_, err := p.clients.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	switch {
	case cloudapi.Is(err, cloudapi.Denied):
		refused = &cloudapi.Error{Class: cloudapi.Denied, Operation: "GetCallerIdentity", Err: fmt.Errorf("AWS refuses the credentials%s: %w", c.whose(), cloudapi.CauseOf(err))}
	case err != nil:
		unknown = fmt.Errorf("AWS in %s cannot be asked whose the credentials are%s: %w", p.identity.Region, c.whose(), err)
	}
	if unknown == nil {
		c.connection.health.Set(needCaller, refused)
	}
	return unknown, refused
}

// whose says in messages whose credentials they are.
func (c *Cloud) whose() string {
	if role := c.config.Global.RoleARN; role != "" {
		return fmt.Sprintf(" (role %s, RoleARN in section [%s])", role, sectionGlobal)
	}
	return ""
}

// probe asks each service something small that has failed, or all of them.
func (c *Cloud) probe(ctx context.Context, clients *clients, all bool) error {
	var errs []error
	for _, s := range []service{serviceEC2, serviceELB, serviceELBv2} {
		asked := []string{string(s)}
		for _, n := range work() {
			asked = append(asked, permitted(s, n.part))
		}
		if _, failing := c.connection.health.Err(asked...); failing != nil || all {
			errs = append(errs, tryOut(ctx, clients, s))
		}
	}
	return errors.Join(errs...)
}

// tryOut reads something small of a service: what each part of the work reads first, with an answer of one page.
func tryOut(ctx context.Context, clients *clients, s service) error {
	var err error
	switch s {
	case serviceEC2:
		few := awssdk.Int32(5) // the fewest that EC2 takes
		// By filter, since an unknown ID makes a call by ID fail.
		_, nodes := clients.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{ec2Filter("instance-id", noInstance)}, MaxResults: few})
		_, tables := clients.ec2.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{MaxResults: few})
		_, groups := clients.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{MaxResults: few})
		err = errors.Join(nodes, tables, groups)
	case serviceELB:
		_, err = clients.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{PageSize: awssdk.Int32(1)})
	case serviceELBv2:
		_, err = clients.elbv2.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{PageSize: awssdk.Int32(1)})
	}
	return err
}

// watchedCredentials tell health whether there are any.
type watchedCredentials struct {
	awssdk.CredentialsProvider
	health *cloudapi.Health
}

// Retrieve implements aws.CredentialsProvider.
func (w watchedCredentials) Retrieve(ctx context.Context) (awssdk.Credentials, error) {
	found, err := w.CredentialsProvider.Retrieve(ctx)
	switch {
	case err == nil:
		w.health.Set(needCredentials, nil)
	case ctx.Err() == nil: // who gave up waiting knows nothing
		w.health.Set(needCredentials, fmt.Errorf("there are no AWS credentials to sign requests with: %w", cloudapi.CauseOf(err)))
	}
	return found, err
}
