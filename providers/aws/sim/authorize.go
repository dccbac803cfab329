package sim

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
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
	for _, request := range t.requests(form) {
		d := iam.Decision{Allowed: c.options.Allow == nil || c.options.Allow(request.Action)}
		if c.policy != nil && d.Allowed {
			d = c.policy.Decide(request)
		}
		switch {
		case c.disruption.denies(request.Action):
			d = iam.Decision{Explicit: true}
		case c.policy != nil:
			c.permissions.record(c.policy, request, d)
		}
		if !d.Allowed {
			return t.errUnauthorized(request, d)
		}
		c.used[request.Action]++
	}
	return nil
}

func (t *tx) errUnauthorized(request iam.Request, d iam.Decision) error {
	reason := fmt.Sprintf("because no identity-based policy allows the %s action", request.Action)
	if d.Explicit {
		reason = "with an explicit deny in an identity-based policy"
	}
	resource := ""
	if request.Resource != "*" {
		resource = " on resource: " + request.Resource
	}
	text := fmt.Sprintf("User: %s is not authorized to perform: %s%s %s", t.sts.CallerARN(), request.Action, resource,
		reason)
	if t.Call.Service == core.ServiceEC2 {
		return core.Refuse("UnauthorizedOperation", "You are not authorized to perform this operation. %s", text)
	}
	return core.Refuse("AccessDenied", "%s", text)
}

// requests returns the requests that IAM decides about: the action on each resource that the call names or
// creates, and the tagging action if it creates an object with tags.
func (t *tx) requests(form url.Values) []iam.Request {
	switch t.Call.Service {
	case core.ServiceEC2:
		return t.requestsEC2(form)
	case core.ServiceELB, core.ServiceELBv2:
		return t.requestsELB(form)
	case core.ServiceSTS:
		// GetCallerIdentity needs no permission.
		if t.Call.Action == "AssumeRole" {
			return []iam.Request{{Action: "sts:AssumeRole", Resource: form.Get("RoleArn")}}
		}
	}
	return nil
}

// resourceParametersEC2 are the parameters with the resources of an action; N stands for a number.
var resourceParametersEC2 = map[string][]string{
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

// createdTypesEC2 are the types of the resources that actions create.
var createdTypesEC2 = map[string]string{
	"CreateSecurityGroup": "security-group", "RunInstances": "instance", "AllocateAddress": "elastic-ip",
}

func (t *tx) requestsEC2(form url.Values) []iam.Request {
	action := "ec2:" + t.Call.Action
	if !t.Call.Mutating {
		return []iam.Request{{Action: action, Resource: "*", Context: t.contextFor("", nil)}}
	}
	tags := requestTags(form, "TagSpecification.N.Tag.N")
	maps.Copy(tags, requestTags(form, "Tag.N"))
	var out []iam.Request
	for _, parameter := range resourceParametersEC2[t.Call.Action] {
		for _, id := range parameters(form, parameter) {
			prefix, _, _ := strings.Cut(id, "-")
			context := t.contextFor(id, tags)
			maps.Copy(context, attributeKeys(t.Call.Action, form))
			out = append(out, iam.Request{Action: action, Resource: t.ARN("ec2", ec2.ResourceTypes[prefix]+"/"+id),
				Context: context})
		}
	}
	if kind := createdTypesEC2[t.Call.Action]; kind != "" {
		created := t.ARN("ec2", kind+"/*")
		out = append(out, iam.Request{Action: action, Resource: created, Context: t.contextFor("", tags)})
		if len(tags) > 0 {
			context := t.contextFor("", tags)
			context["ec2:CreateAction"] = []string{t.Call.Action}
			out = append(out, iam.Request{Action: "ec2:CreateTags", Resource: created, Context: context})
		}
	}
	return out
}

// attributeKeys returns the condition keys ec2:Attribute/NAME of a request that modifies an attribute with a single
// value: the section "Attribute condition keys" of the EC2 user guide.
func attributeKeys(action string, form url.Values) map[string][]string {
	out := map[string][]string{}
	if !strings.HasPrefix(action, "Modify") || !strings.HasSuffix(action, "Attribute") {
		return out
	}
	for name := range form {
		if attribute, ok := strings.CutSuffix(name, ".Value"); ok && !strings.Contains(attribute, ".") {
			out["ec2:Attribute/"+attribute] = []string{form.Get(name)}
		}
	}
	return out
}

func (t *tx) requestsELB(form url.Values) []iam.Request {
	action := "elasticloadbalancing:" + t.Call.Action
	if !t.Call.Mutating {
		return []iam.Request{{Action: action, Resource: "*", Context: t.contextFor("", nil)}}
	}
	tags := requestTags(form, "Tags.member.N")
	var out []iam.Request
	for _, resource := range t.resourcesELB(form) {
		out = append(out, iam.Request{Action: action, Resource: resource.arn, Context: t.contextFor(resource.id, tags)})
	}
	if strings.HasPrefix(t.Call.Action, "Create") && len(tags) > 0 {
		context := t.contextFor("", tags)
		context["elasticloadbalancing:CreateAction"] = []string{t.Call.Action}
		out = append(out, iam.Request{Action: "elasticloadbalancing:AddTags", Resource: t.createdELB(form), Context: context})
	}
	for _, name := range dependentReadsELB[t.Call.Service][t.Call.Action] {
		out = append(out, iam.Request{Action: "ec2:Describe" + name, Resource: "*", Context: t.contextFor("", nil)})
	}
	creates := t.Call.Action == "CreateLoadBalancer" || t.Call.Action == "CreateTargetGroup"
	if creates && !t.elb.LinkedRole {
		out = append(out, t.linkedRoleRequest())
	}
	return out
}

// dependentReadsELB are the objects of EC2 that an action reads with the caller's permissions: the page "Elastic
// Load Balancing API permissions" of the user guide. CreateLoadBalancer of 2012-06-01 needs CreateSecurityGroup as
// well, for the group that it creates for a request without any.
var dependentReadsELB = map[string]map[string][]string{
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

// linkedRoleRequest returns the additional request for the first load balancer or target group of an account, which
// creates the service-linked role: the page "Elastic Load Balancing service-linked role" of the user guide.
func (t *tx) linkedRoleRequest() iam.Request {
	const name = "elasticloadbalancing.amazonaws.com"
	context := t.contextFor("", nil)
	context["iam:AWSServiceName"] = []string{name}
	return iam.Request{Action: "iam:CreateServiceLinkedRole", Context: context, Resource: fmt.Sprintf(
		"arn:%s:iam::%s:role/aws-service-role/%s/AWSServiceRoleForElasticLoadBalancing", t.Options.Partition(),
		t.Options.Account, name)}
}

// resource is an object of IAM decisions: its ARN, and the key of its tags.
type resource struct{ arn, id string }

// resourcesELB returns the resources of a change. A change of a listener names the listener, not its load balancer.
func (t *tx) resourcesELB(form url.Values) []resource {
	if t.Call.Service == core.ServiceELB {
		var out []resource
		for _, name := range append(parameters(form, "LoadBalancerNames.member.N"), parameters(form, "LoadBalancerName")...) {
			out = append(out, resource{t.ARN("elasticloadbalancing", "loadbalancer/"+name), classic.TagKey(name)})
		}
		return out
	}
	if t.Call.Action == "CreateLoadBalancer" || t.Call.Action == "CreateTargetGroup" {
		return []resource{{arn: t.createdELB(form)}}
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

// createdELB returns the ARN of the object that a request creates, as far as it is known in advance.
func (t *tx) createdELB(form url.Values) string {
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

// contextFor returns the condition keys of a request: the tags of the resource, those that the request sets, and the
// region.
func (t *tx) contextFor(id string, tags map[string]string) map[string][]string {
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

// parameters returns the values of the parameters with a name, in which N stands for any number.
func parameters(form url.Values, pattern string) []string {
	var out []string
	for _, name := range parameterNames(form, pattern) {
		out = append(out, form.Get(name))
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
		if form.Get(name) != "" && slices.EqualFunc(parts, strings.Split(name, "."), matchesPart) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

var number = regexp.MustCompile(`^[1-9][0-9]*$`)

func matchesPart(pattern, part string) bool {
	return pattern == part || pattern == "N" && number.MatchString(part)
}

// requestTags returns the tags that a request sets or removes: Key and Value below each parameter that
// matches the pattern.
func requestTags(form url.Values, pattern string) map[string]string {
	out := map[string]string{}
	for _, name := range parameterNames(form, pattern+".Key") {
		out[form.Get(name)] = form.Get(strings.TrimSuffix(name, "Key") + "Value")
	}
	for _, key := range parameters(form, "TagKeys.member.N") {
		out[key] = ""
	}
	return out
}
