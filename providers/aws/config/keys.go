package config

import (
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Keys documents every key of cloud.conf, in the order of the reference page.
func Keys() []provider.ConfigKey {
	return append(globalKeys(), overrideKeys()...)
}

func globalKeys() []provider.ConfigKey {
	key := func(name, kind, value, doc string) provider.ConfigKey {
		return provider.ConfigKey{Section: SectionGlobal, Key: name, Type: kind, Default: value, Doc: doc}
	}
	return []provider.ConfigKey{
		key("Zone", "availability zone", "",
			"Sets the region by one of its zones; it has no other effect. It overrides Region. Changing the "+
				"region of a cluster is not possible: nodes of another region count as foreign."),
		key("Region", "region", "the region of the instance that the manager runs on",
			"The region of this manager. Set it if the instance metadata service cannot be reached. "+
				"Environment variables such as AWS_REGION do not set it."),
		key("VPC", "ID of a VPC", "the VPC of the instance that the manager runs on",
			"The VPC of the nodes. Set it if the manager runs outside of it. Load balancers cannot move to another VPC."),
		key("SubnetID", "ID of a subnet", "the subnet of the instance that the manager runs on, if that instance was read",
			"The subnet of load balancers if no subnet of the VPC qualifies by its tags. Existing network load balancers are "+
				"moved when the choice changes."),
		key("RouteTableID", "ID of a route table", "the route tables of the VPC that carry the cluster's tag",
			"The only route table with the routes to pods. Without it, all tables with the cluster's tag have "+
				"the same routes. Routes in a table that is no longer used are not deleted."),
		key("RoleARN", "ARN of a role", "",
			"The role that the manager assumes for all calls, in sessions of 15 minutes. Changing it does not affect "+
				"existing objects, unless the role is in another account, where no object of the cluster is found."),
		key("SourceARN", "ARN", "",
			"Sent as x-amz-source-arn when RoleARN is assumed, for trust policies that guard against a confused deputy. "+
				"The account in RoleARN is sent as x-amz-source-account."),
		key("KubernetesClusterTag", "string", "",
			"The cluster's ID in tags, like KubernetesClusterID, which also writes the legacy tag KubernetesCluster. "+
				"Changing it orphans everything that has the old ID."),
		key("KubernetesClusterID", "string", "the ID in the tags of the instance that the manager runs on",
			"The cluster's ID in tags, kubernetes.io/cluster/ID. It identifies instances, subnets, security groups and "+
				"route tables. Changing it orphans everything that has the old ID."),
		key("DisableSecurityGroupIngress", "bool", "false",
			"Never change the security groups of nodes: users open the node ports themselves. Rules that exist when it is "+
				"enabled stay."),
		key("ElbSecurityGroup", "ID of a security group", "one security group for each load balancer",
			"One security group for all classic load balancers. Its rules are never edited. Existing load balancers are "+
				"moved to it, and their own groups deleted."),
		key("NodeIPFamilies", "ipv4 or ipv6, may be repeated", FamilyIPv4,
			"IP families of the nodes' addresses, in order. Changing it changes the addresses of all nodes."),
		key("ClusterServiceLoadBalancerHealthProbeMode", ProbeNodePort+" or "+ProbeShared, ProbeNodePort,
			"What load balancers probe for Services with externalTrafficPolicy: Cluster: each Service at its own port, or "+
				"kube-proxy, which takes a node out of all of them while it is drained. Network load balancers get new target "+
				"groups when it changes."),
		key("ClusterServiceSharedLoadBalancerHealthProbePort", "port", strconv.Itoa(defaultProbePort),
			"The port of the shared probe. Existing health checks are updated in place."),
		key("ClusterServiceSharedLoadBalancerHealthProbePath", "path", defaultProbePath,
			"The path of the shared probe. Existing health checks are updated in place."),
		key("SupportedTopologyInstanceTypePattern", "regular expression, in double quotes and with backslashes doubled",
			`"`+strings.ReplaceAll(defaultTopologyPattern, `\`, `\\`)+`"`,
			"Instance types with nodes that are not initialized before their network topology is known. Nodes of other types "+
				"get the labels of their topology if it is available at once."),
		key("NLBSecurityGroupMode", GroupsManaged+" or unset", "",
			"With "+GroupsManaged+", each new network load balancer gets its own security group. AWS cannot add one to "+
				"a load balancer that was created without; those keep working without."),
		key("LegacyMetrics", "bool", "false",
			"Also expose the metrics of cloud-provider-aws, for existing dashboards: "+
				"cloudprovider_aws_api_request_duration_seconds, cloudprovider_aws_api_request_errors, "+
				"cloudprovider_aws_api_throttled_requests_total, "+
				"cloudprovider_aws_api_response_status_total, cloudprovider_aws_tagging_controller_work_item_errors_total "+
				"(its label instance_id stays empty) and "+
				"tagging_controller_inital_node_tagging_delay_seconds."), //nolint:misspell // its name
	}
}

func overrideKeys() []provider.ConfigKey {
	key := func(name, kind, doc string) provider.ConfigKey {
		return provider.ConfigKey{Section: sectionOverride + ` "NAME"`, Key: name, Type: kind, Doc: doc}
	}
	return []provider.ConfigKey{
		key("Service", "name of a service",
			"The service to override: EC2, Elastic Load Balancing, Elastic Load Balancing v2, STS or "+
				"ec2imds. The names of the earlier SDK are accepted too: ec2, elasticloadbalancing (both generations of load "+
				"balancers), sts and ec2metadata. "+
				"Environment variables such as AWS_ENDPOINT_URL_EC2 apply if there is no section. With another endpoint "+
				"the manager may see another cloud, in which its load balancers do not exist."),
		key("Region", "region", "The region of the endpoint; a section for another region than the manager's has no effect. "+
			"Ignored for ec2imds."),
		key("URL", "URL", "The endpoint."),
		key("SigningRegion", "region", "The region for which requests are signed."),
		key("SigningName", "string", "The service name for which requests are signed; the service's own by default."),
		key("SigningMethod", "string", "Has no effect: requests are always signed with version 4."),
	}
}
