package sim

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/classic"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/iam"
)

// authorize evaluates the policy of the options for every resource of a call; all must be allowed. It records
// allowed actions and what the policy decided, see UsedActions and Permissions. The administrator may do everything.
func (c *Cloud) authorize(k core.Call, form url.Values) error {
	if k.Credential.AccessKey == AdministratorKey {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.begin(k, c.state)
	for _, claim := range t.claims(form) {
		d := iam.Decision{Allowed: c.options.Allow == nil || c.options.Allow(claim.Action)}
		if c.policy != nil && d.Allowed {
			d = c.policy.Decide(claim)
		}
		switch {
		case c.disruption.denies(claim.Action):
			d = iam.Decision{Explicit: true}
		case c.policy != nil:
			c.permissions.record(c.policy, claim, d)
		}
		if !d.Allowed {
			return t.unauthorized(claim, d)
		}
		c.used[claim.Action]++
	}
	return nil
}

func (t *tx) unauthorized(claim iam.Request, d iam.Decision) error {
	reason := fmt.Sprintf("because no identity-based policy allows the %s action", claim.Action)
	if d.Explicit {
		reason = "with an explicit deny in an identity-based policy"
	}
	on := ""
	if claim.Resource != "*" {
		on = " on resource: " + claim.Resource
	}
	text := fmt.Sprintf("User: %s is not authorized to perform: %s%s %s", t.sts.CallerARN(), claim.Action, on, reason)
	if t.Call.Service == core.ServiceEC2 {
		return core.Refuse("UnauthorizedOperation", "You are not authorized to perform this operation. %s", text)
	}
	return core.Refuse("AccessDenied", "%s", text)
}

// claims returns the requests that IAM decides about: the action on each resource that the call names or
// creates, and the tagging action if it creates an object with tags.
func (t *tx) claims(form url.Values) []iam.Request {
	switch t.Call.Service {
	case core.ServiceEC2:
		return t.claimsEC2(form)
	case core.ServiceELB, core.ServiceELBv2:
		return t.claimsELB(form)
	case core.ServiceSTS:
		// GetCallerIdentity needs no permission.
		if t.Call.Action == "AssumeRole" {
			return []iam.Request{{Action: "sts:AssumeRole", Resource: form.Get("RoleArn")}}
		}
	}
	return nil
}

// namingEC2 are the parameters of changes with the resources that IAM decides about; N stands for a number.
var namingEC2 = map[string][]string{
	"CreateRoute": {"RouteTableId"}, "ReplaceRoute": {"RouteTableId"}, "DeleteRoute": {"RouteTableId"},
	"ModifyInstanceAttribute": {"InstanceId"}, "StartInstances": {"InstanceId.N"}, "StopInstances": {"InstanceId.N"},
	"TerminateInstances": {"InstanceId.N"}, "RunInstances": {"SubnetId", "SecurityGroupId.N"},
	"CreateSecurityGroup": {"VpcId"}, "DeleteSecurityGroup": {"GroupId"},
	"AuthorizeSecurityGroupIngress": {"GroupId"}, "RevokeSecurityGroupIngress": {"GroupId"},
	"AuthorizeSecurityGroupEgress": {"GroupId"}, "RevokeSecurityGroupEgress": {"GroupId"},
	"CreateTags": {"ResourceId.N"}, "DeleteTags": {"ResourceId.N"}, "ReleaseAddress": {"AllocationId"},
	"AssignIpv6Addresses": {"NetworkInterfaceId"}, "UnassignIpv6Addresses": {"NetworkInterfaceId"},
	"ModifyNetworkInterfaceAttribute": {"NetworkInterfaceId"},
}

// makingEC2 is the kind of resource that an action creates.
var makingEC2 = map[string]string{
	"CreateSecurityGroup": "security-group", "RunInstances": "instance", "AllocateAddress": "elastic-ip",
}

func (t *tx) claimsEC2(form url.Values) []iam.Request {
	action := "ec2:" + t.Call.Action
	if !t.Call.Mutating {
		return []iam.Request{{Action: action, Resource: "*", Context: t.contextOf("", nil)}}
	}
	tags := requestTags(form, "TagSpecification.N.Tag.N")
	maps.Copy(tags, requestTags(form, "Tag.N"))
	var out []iam.Request
	for _, parameter := range namingEC2[t.Call.Action] {
		for _, id := range parameters(form, parameter) {
			prefix, _, _ := strings.Cut(id, "-")
			out = append(out, iam.Request{Action: action, Resource: t.ARN("ec2", ec2.ResourceTypes[prefix]+"/"+id),
				Context: t.contextOf(id, tags)})
		}
	}
	if kind := makingEC2[t.Call.Action]; kind != "" {
		made := t.ARN("ec2", kind+"/*")
		out = append(out, iam.Request{Action: action, Resource: made, Context: t.contextOf("", tags)})
		if len(tags) > 0 {
			context := t.contextOf("", tags)
			context["ec2:CreateAction"] = []string{t.Call.Action}
			out = append(out, iam.Request{Action: "ec2:CreateTags", Resource: made, Context: context})
		}
	}
	return out
}

func (t *tx) claimsELB(form url.Values) []iam.Request {
	action := "elasticloadbalancing:" + t.Call.Action
	if !t.Call.Mutating {
		return []iam.Request{{Action: action, Resource: "*", Context: t.contextOf("", nil)}}
	}
	tags := requestTags(form, "Tags.member.N")
	var out []iam.Request
	for _, resource := range t.resourcesELB(form) {
		out = append(out, iam.Request{Action: action, Resource: resource.arn, Context: t.contextOf(resource.id, tags)})
	}
	if making := strings.HasPrefix(t.Call.Action, "Create"); making && len(tags) > 0 {
		context := t.contextOf("", tags)
		context["elasticloadbalancing:CreateAction"] = []string{t.Call.Action}
		out = append(out, iam.Request{Action: "elasticloadbalancing:AddTags", Resource: t.madeELB(form), Context: context})
	}
	for _, name := range readByELB[t.Call.Service][t.Call.Action] {
		out = append(out, iam.Request{Action: "ec2:Describe" + name, Resource: "*", Context: t.contextOf("", nil)})
	}
	creates := t.Call.Action == "CreateLoadBalancer" || t.Call.Action == "CreateTargetGroup"
	if creates && !t.elb.LinkedRole {
		out = append(out, t.claimLinkedRole())
	}
	return out
}

// readByELB are the objects of EC2 that an action reads with the caller's permissions: the page "Elastic Load Balancing
// API permissions" of the user guide. CreateLoadBalancer of 2012-06-01 needs CreateSecurityGroup as well, for the
// group that it creates for a request without any.
var readByELB = map[string]map[string][]string{
	core.ServiceELBv2: {
		"CreateLoadBalancer": {"AccountAttributes", "Addresses", "InternetGateways", "SecurityGroups", "Subnets", "Vpcs"},
		"CreateTargetGroup":  {"InternetGateways", "Vpcs"},
		"RegisterTargets":    {"Instances", "InternetGateways", "Subnets", "Vpcs"},
		"SetIpAddressType":   {"Subnets"},
		"SetSubnets":         {"Subnets"},
	},
	core.ServiceELB: {
		"ApplySecurityGroupsToLoadBalancer": {"AccountAttributes", "SecurityGroups"},
		"AttachLoadBalancerToSubnets":       {"Subnets"},
		"CreateLoadBalancer":                {"AccountAttributes", "InternetGateways", "SecurityGroups", "Subnets", "Vpcs"},
	},
}

// claimLinkedRole returns the additional request for the first load balancer or target group of an account, which
// creates the service-linked role: the page "Elastic Load Balancing service-linked role" of the user guide.
func (t *tx) claimLinkedRole() iam.Request {
	const name = "elasticloadbalancing.amazonaws.com"
	context := t.contextOf("", nil)
	context["iam:AWSServiceName"] = []string{name}
	return iam.Request{Action: "iam:CreateServiceLinkedRole", Context: context, Resource: fmt.Sprintf(
		"arn:%s:iam::%s:role/aws-service-role/%s/AWSServiceRoleForElasticLoadBalancing", t.Options.Partition(),
		t.Options.Account, name)}
}

// resource is an object of IAM decisions: its ARN, and the key of its tags.
type resource struct{ arn, id string }

// resourcesELB are the resources in a change. A change of a listener names the listener, not its load
// balancer.
func (t *tx) resourcesELB(form url.Values) []resource {
	if t.Call.Service == core.ServiceELB {
		var out []resource
		for _, name := range append(parameters(form, "LoadBalancerNames.member.N"), parameters(form, "LoadBalancerName")...) {
			out = append(out, resource{t.ARN("elasticloadbalancing", "loadbalancer/"+name), classic.TagKey(name)})
		}
		return out
	}
	if t.Call.Action == "CreateLoadBalancer" || t.Call.Action == "CreateTargetGroup" {
		return []resource{{arn: t.madeELB(form)}}
	}
	for _, parameter := range []string{"ResourceArns.member.N", "ListenerArn", "LoadBalancerArn", "TargetGroupArn"} {
		var out []resource
		for _, arn := range parameters(form, parameter) {
			out = append(out, resource{arn, arn})
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// madeELB returns the ARN of the object that a request creates, as far as it is known in advance.
func (t *tx) madeELB(form url.Values) string {
	switch {
	case t.Call.Service == core.ServiceELB:
		return t.ARN("elasticloadbalancing", "loadbalancer/"+form.Get("LoadBalancerName"))
	case t.Call.Action == "CreateTargetGroup":
		return t.ARN("elasticloadbalancing", "targetgroup/"+form.Get("Name")+"/*")
	case t.Call.Action == "CreateListener":
		_, name, _ := strings.Cut(form.Get("LoadBalancerArn"), ":loadbalancer/")
		return t.ARN("elasticloadbalancing", "listener/"+name+"/*")
	}
	return t.ARN("elasticloadbalancing", "loadbalancer/net/"+form.Get("Name")+"/*")
}

// contextOf returns the condition keys of a request: the tags that a resource has, those that the request sets, and the
// region.
func (t *tx) contextOf(id string, tags map[string]string) map[string][]string {
	out := map[string][]string{"aws:RequestedRegion": {t.Options.Region}}
	prefix := "elasticloadbalancing"
	if t.Call.Service == core.ServiceEC2 {
		prefix = "ec2"
		out["ec2:Region"] = []string{t.Options.Region}
	}
	for key, value := range t.Tags[id] {
		out["aws:ResourceTag/"+key], out[prefix+":ResourceTag/"+key] = []string{value}, []string{value}
	}
	for _, key := range core.SortedIDs(tags) {
		out["aws:RequestTag/"+key] = []string{tags[key]}
		out["aws:TagKeys"] = append(out["aws:TagKeys"], key)
	}
	return out
}

// parameters returns the values of a parameter of that name, where N stands for any number, in no particular
// order.
func parameters(form url.Values, name string) []string {
	var out []string
	for _, found := range parameterNames(form, name) {
		out = append(out, form.Get(found))
	}
	return out
}

// parameterNames returns the names of parameters that match a pattern; it skips empty values.
func parameterNames(form url.Values, pattern string) []string {
	if form.Get(pattern) != "" {
		return []string{pattern}
	}
	if !strings.Contains(pattern, "N") {
		return nil
	}
	parts := strings.Split(pattern, ".")
	var out []string
	for name := range form {
		if have := strings.Split(name, "."); len(have) == len(parts) && form.Get(name) != "" &&
			slices.EqualFunc(parts, have, fitsPart) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

var number = regexp.MustCompile(`^[1-9][0-9]*$`)

func fitsPart(pattern, part string) bool {
	return pattern == part || pattern == "N" && number.MatchString(part)
}

// requestTags returns the tags that a request sets or removes: Key and Value below each parameter that
// matches the pattern.
func requestTags(form url.Values, pattern string) map[string]string {
	out := map[string]string{}
	for _, name := range parameterNames(form, pattern+".Key") {
		out[form.Get(name)] = form.Get(strings.TrimSuffix(name, "Key") + "Value")
	}
	for n := 1; form.Get("TagKeys.member."+strconv.Itoa(n)) != ""; n++ {
		out[form.Get("TagKeys.member."+strconv.Itoa(n))] = ""
	}
	return out
}
