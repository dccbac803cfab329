package main

// Placeholder stands in the policy for the cluster's ID, the end of the key of its tag. IAM has no wildcards
// or variables in the names of condition keys, so that each cluster has a policy of its own.
const Placeholder = "CLUSTER_ID"

// clusterTag is the tag by which a cluster's objects are known. Its value reports whether the cluster owns
// an object or shares it, and is of no consequence here.
const clusterTag = "kubernetes.io/cluster/" + Placeholder

// conditions of a statement: values by key by operator.
type conditions map[string]map[string]any

// statement is one statement of the policy, actions apart, which are filled in from the scopes.
type statement struct {
	Sid       string
	Effect    string
	Action    []string
	Resource  any
	Condition conditions `json:",omitempty"`
}

// tagged demands that the resource has the cluster's tag.
func tagged() conditions {
	return conditions{"Null": {"aws:ResourceTag/" + clusterTag: "false"}}
}

// born demands that the request gives the cluster's tag to what it makes.
func born() conditions {
	return conditions{"Null": {"aws:RequestTag/" + clusterTag: "false"}}
}

// bornBy is born for the tagging that one of the actions brings with it, and no tagging besides.
func bornBy(key string, actions ...string) conditions {
	c := born()
	c["StringEquals"] = map[string]any{key: actions}
	return c
}

// Names of the policy's statements.
const (
	reading         = "Read"
	routes          = "RoutesInTablesOfTheCluster"
	machines        = "InstancesOfTheCluster"
	newGroup        = "NewSecurityGroupsOfTheCluster"
	newGroupVPC     = "NewSecurityGroupsInAnyVPC"
	newGroupTags    = "TagsOfNewSecurityGroups"
	groups          = "SecurityGroupsOfTheCluster"
	ec2Tags         = "TagsOfWhatTheClusterHas"
	newBalancer     = "NewLoadBalancersOfTheCluster"
	newBalancerTags = "TagsOfNewLoadBalancers"
	balancers       = "LoadBalancersOfTheCluster"
	firstBalancer   = "FirstLoadBalancerOfTheAccount"
)

// statements are the policy without its actions, in the order in which a reader should meet them. Resources are
// of any partition, region and account: a policy applies in the account that it is in.
func statements() []statement {
	const ec2, elb = "arn:*:ec2:*:*:", "arn:*:elasticloadbalancing:*:*:"
	return []statement{
		// AWS knows no resources of these.
		{Sid: reading, Resource: "*"},
		{Sid: routes, Resource: ec2 + "route-table/*", Condition: tagged()},
		{Sid: machines, Resource: ec2 + "instance/*", Condition: tagged()},
		{Sid: newGroup, Resource: ec2 + "security-group/*", Condition: born()},
		// Making a group is asked about its VPC too, which need not have a tag.
		{Sid: newGroupVPC, Resource: ec2 + "vpc/*"},
		{Sid: newGroupTags, Resource: ec2 + "security-group/*", Condition: bornBy("ec2:CreateAction", "CreateSecurityGroup")},
		{Sid: groups, Resource: ec2 + "security-group/*", Condition: tagged()},
		{Sid: ec2Tags, Resource: []string{ec2 + "instance/*", ec2 + "security-group/*"}, Condition: tagged()},
		{Sid: newBalancer, Resource: []string{elb + "loadbalancer/*", elb + "targetgroup/*"}, Condition: born()},
		{Sid: newBalancerTags, Resource: []string{elb + "loadbalancer/*", elb + "targetgroup/*", elb + "listener/net/*"},
			Condition: bornBy("elasticloadbalancing:CreateAction", "CreateLoadBalancer", "CreateTargetGroup", "CreateListener")},
		{Sid: balancers, Resource: []string{elb + "loadbalancer/*", elb + "targetgroup/*", elb + "listener/net/*"},
			Condition: tagged()},
		// The first load balancer of an account makes the role by which Elastic Load Balancing acts.
		{Sid: firstBalancer,
			Resource:  "arn:*:iam::*:role/aws-service-role/elasticloadbalancing.amazonaws.com/AWSServiceRoleForElasticLoadBalancing",
			Condition: conditions{"StringEquals": {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"}}},
	}
}

// scopes are the statements in which the action of a change stands; actions that only look are in the first one.
func scopes() map[string][]string {
	out := map[string][]string{
		"ec2:CreateRoute": {routes}, "ec2:ReplaceRoute": {routes}, "ec2:DeleteRoute": {routes},
		"ec2:ModifyInstanceAttribute":       {machines},
		"ec2:CreateSecurityGroup":           {newGroup, newGroupVPC},
		"ec2:DeleteSecurityGroup":           {groups},
		"ec2:AuthorizeSecurityGroupIngress": {groups},
		"ec2:RevokeSecurityGroupIngress":    {groups},
		"ec2:CreateTags":                    {newGroupTags, ec2Tags},
		"ec2:DeleteTags":                    {ec2Tags},
		"iam:CreateServiceLinkedRole":       {firstBalancer},
		// Whose role one takes on is written in the configuration, and a permission of its own.
		"sts:AssumeRole": {}, "sts:AssumeRoleWithWebIdentity": {},
		// Everyone may ask who they are.
		"sts:GetCallerIdentity": {},
	}
	const elb = "elasticloadbalancing:"
	for _, name := range []string{"CreateLoadBalancer", "CreateTargetGroup"} {
		out[elb+name] = []string{newBalancer}
	}
	out[elb+"AddTags"] = []string{newBalancerTags, balancers}
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
	return out
}
