package main

// Placeholder stands in the policy for the cluster's ID, the end of the key of its tag. IAM has no wildcards
// or variables in the names of condition keys, so each cluster has its own policy.
const Placeholder = "CLUSTER_ID"

// clusterTag is the tag that identifies a cluster's objects. Its value distinguishes owned and shared
// objects, and does not matter here.
const clusterTag = "kubernetes.io/cluster/" + Placeholder

// conditions of a statement: values by key by operator.
type conditions map[string]map[string]any

// Files of the policies. A role needs those of routes and of tagging only if these controllers run.
const (
	basePolicy    = "iam-policy.json"
	routesPolicy  = "iam-policy-routes.json"
	taggingPolicy = "iam-policy-tagging.json"
)

// Files returns the files of all policies.
func Files() []string { return []string{basePolicy, routesPolicy, taggingPolicy} }

// statement is one statement of a policy without actions, which are filled in from the scopes.
type statement struct {
	file      string
	Sid       string
	Effect    string
	Action    []string
	Resource  any
	Condition conditions `json:",omitempty"`
}

// requireTag requires that the resource has the cluster's tag.
func requireTag() conditions {
	return conditions{"Null": {"aws:ResourceTag/" + clusterTag: "false"}}
}

// requireTagAndKeys is requireTag for requests that set or remove tags, and forbids some of their keys: by the mark
// of another owner, an object could be given away, or a node become another cluster's.
func requireTagAndKeys(forbidden ...string) conditions {
	c := requireTag()
	c["ForAllValues:StringNotLike"] = map[string]any{"aws:TagKeys": forbidden}
	return c
}

// requireRequestTag requires that the request sets the cluster's tag on the object that it creates.
func requireRequestTag() conditions {
	return conditions{"Null": {"aws:RequestTag/" + clusterTag: "false"}}
}

// sourceDestCheckOnly is requireTag for requests that disable the source/destination check.
func sourceDestCheckOnly() conditions {
	c := requireTag()
	c["StringEquals"] = map[string]any{"ec2:Attribute/SourceDestCheck": "false"}
	return c
}

// requireRequestTagBy is requireRequestTag for tagging as part of one of the actions, and forbids separate tagging.
func requireRequestTagBy(key string, actions ...string) conditions {
	c := requireRequestTag()
	c["StringEquals"] = map[string]any{key: actions}
	return c
}

// Names of the policy's statements.
const (
	readOnly           = "Read"
	routes             = "RoutesInTablesOfTheCluster"
	instances          = "InstancesOfTheCluster"
	newGroup           = "NewSecurityGroupsOfTheCluster"
	newGroupVPC        = "NewSecurityGroupsInAnyVPC"
	newGroupTags       = "TagsOfNewSecurityGroups"
	groups             = "SecurityGroupsOfTheCluster"
	groupTags          = "TagsOfSecurityGroups"
	instanceTags       = "TagsOfInstances"
	createBalancer     = "NewLoadBalancersOfTheCluster"
	createBalancerTags = "TagsOfNewLoadBalancers"
	balancers          = "LoadBalancersOfTheCluster"
	untagged           = "PartsThatWereNeverTagged"
	serviceLinkedRole  = "FirstLoadBalancerOfTheAccount"
)

// statements are the policies without their actions, in reading order. Resources are of any partition, region and
// account: a policy applies to its own account.
func statements() []statement {
	const ec2, elb = "arn:*:ec2:*:*:", "arn:*:elasticloadbalancing:*:*:"
	return []statement{
		// AWS defines no resource types for these.
		{Sid: readOnly, Resource: "*"},
		{Sid: routes, file: routesPolicy, Resource: ec2 + "route-table/*", Condition: requireTag()},
		// The only attribute that changes is the source/destination check, which is disabled. Others would let the caller
		// run its own user data, or replace security groups.
		{Sid: instances, file: routesPolicy, Resource: ec2 + "instance/*", Condition: sourceDestCheckOnly()},
		{Sid: newGroup, Resource: ec2 + "security-group/*", Condition: requireRequestTag()},
		// Creating a group also requires permission for its VPC, which need not have a tag.
		{Sid: newGroupVPC, Resource: ec2 + "vpc/*"},
		{
			Sid: newGroupTags, Resource: ec2 + "security-group/*",
			Condition: requireRequestTagBy("ec2:CreateAction", "CreateSecurityGroup"),
		},
		{Sid: groups, Resource: ec2 + "security-group/*", Condition: requireTag()},
		{Sid: groupTags, Resource: ec2 + "security-group/*",
			Condition: requireTagAndKeys("kubernetes.io/cluster/*", "elbv2.k8s.aws/*")},
		{Sid: instanceTags, file: taggingPolicy, Resource: ec2 + "instance/*", Condition: requireTagAndKeys(
			"kubernetes.io/cluster/*", "KubernetesCluster", "elbv2.k8s.aws/*", "unified-ccm.io/*")},
		{Sid: createBalancer, Resource: []string{elb + "loadbalancer/*", elb + "targetgroup/*"},
			Condition: requireRequestTag()},
		{Sid: createBalancerTags, Resource: []string{elb + "loadbalancer/*", elb + "targetgroup/*", elb + "listener/net/*"},
			Condition: requireRequestTagBy("elasticloadbalancing:CreateAction",
				"CreateLoadBalancer", "CreateTargetGroup", "CreateListener")},
		{Sid: balancers, Resource: []string{elb + "loadbalancer/*", elb + "targetgroup/*", elb + "listener/net/*"},
			Condition: requireTag()},
		// Earlier managers did not tag listeners and target groups, which had the same names. Those with the tags of
		// another cluster's Service, or of the AWS Load Balancer Controller, stay out of reach. Objects that are being
		// created have no tags either: they are those of createBalancerTags.
		{
			Sid: untagged, Resource: []string{elb + "targetgroup/k8s-*", elb + "listener/net/a*"},
			Condition: conditions{"Null": {
				"aws:ResourceTag/kubernetes.io/service-name": "true", "aws:ResourceTag/elbv2.k8s.aws/cluster": "true",
				"elasticloadbalancing:CreateAction": "true",
			}},
		},
		// The first load balancer of an account creates the service-linked role of Elastic Load Balancing.
		{Sid: serviceLinkedRole,
			Resource:  "arn:*:iam::*:role/aws-service-role/elasticloadbalancing.amazonaws.com/AWSServiceRoleForElasticLoadBalancing",
			Condition: conditions{"StringEquals": {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"}}},
	}
}

// scopes are the statements of each mutating action; read-only actions are in the first statement.
func scopes() map[string][]string {
	out := map[string][]string{
		"ec2:CreateRoute": {routes}, "ec2:ReplaceRoute": {routes}, "ec2:DeleteRoute": {routes},
		"ec2:ModifyInstanceAttribute":       {instances},
		"ec2:CreateSecurityGroup":           {newGroup, newGroupVPC},
		"ec2:DeleteSecurityGroup":           {groups},
		"ec2:AuthorizeSecurityGroupIngress": {groups},
		"ec2:RevokeSecurityGroupIngress":    {groups},
		"ec2:CreateTags":                    {newGroupTags, groupTags, instanceTags},
		"ec2:DeleteTags":                    {groupTags, instanceTags},
		"iam:CreateServiceLinkedRole":       {serviceLinkedRole},
		// The role to assume is part of the configuration, and requires its own permission.
		"sts:AssumeRole": {}, "sts:AssumeRoleWithWebIdentity": {},
		// Allowed for every caller.
		"sts:GetCallerIdentity": {},
	}
	const elb = "elasticloadbalancing:"
	for _, name := range []string{"CreateLoadBalancer", "CreateTargetGroup"} {
		out[elb+name] = []string{createBalancer}
	}
	out[elb+"AddTags"] = []string{createBalancerTags, balancers}
	for _, name := range []string{
		"DeleteLoadBalancer", "AttachLoadBalancerToSubnets", "DetachLoadBalancerFromSubnets",
		"ApplySecurityGroupsToLoadBalancer",
		"ModifyLoadBalancerAttributes", "ConfigureHealthCheck", "RemoveTags", "CreateLoadBalancerListeners",
		"DeleteLoadBalancerListeners",
		"SetLoadBalancerListenerSSLCertificate", "CreateLoadBalancerPolicy", "SetLoadBalancerPoliciesForBackendServer",
		"SetLoadBalancerPoliciesOfListener", "RegisterInstancesWithLoadBalancer", "DeregisterInstancesFromLoadBalancer",
		"SetSecurityGroups", "SetSubnets", "SetIpAddressType", "CreateListener", "ModifyListener", "DeleteListener",
		"ModifyListenerAttributes", "AddListenerCertificates", "RemoveListenerCertificates", "ModifyTargetGroup",
		"DeleteTargetGroup",
		"ModifyTargetGroupAttributes", "RegisterTargets", "DeregisterTargets",
	} {
		out[elb+name] = []string{balancers}
	}
	for _, name := range []string{
		"AddTags", "ModifyListener", "DeleteListener", "ModifyListenerAttributes", "AddListenerCertificates",
		"RemoveListenerCertificates", "ModifyTargetGroup", "ModifyTargetGroupAttributes", "RegisterTargets",
		"DeregisterTargets",
	} {
		out[elb+name] = append(out[elb+name], untagged)
	}
	return out
}
