package config

import "github.com/unified-ccm/unified-ccm/pkg/common/provider"

// Keys documents every key of gce.conf, in the order of the reference page.
func Keys() []provider.ConfigKey {
	const fromMetadata = "from the metadata server"
	key := func(name, kind, value, doc string) provider.ConfigKey {
		return provider.ConfigKey{Section: section, Key: name, Type: kind, Default: value, Doc: doc}
	}
	body := key("token-body", "string", "", "The body of the request to token-url.")
	body.Secret = true
	return []provider.ConfigKey{
		key("token-url", "URL, or nil", "the instance's service account",
			"Where access tokens come from: this URL gets token-body by POST, authenticated with the instance's own token, and "+
				"answers with accessToken and expireTime. nil selects application default credentials: a service account file, "+
				"workload identity federation, or the metadata server."),
		body,
		key("project-id", "name or number", fromMetadata,
			"The project of the instances and load balancers. Nodes with a provider ID of another project are foreign. "+
				"Changing it while load balancers exist leaves them behind."),
		key("network-project-id", "name or number", "project-id",
			"The host project of a shared VPC, which has the firewalls, routes and subnets. If it denies changes of "+
				"firewalls, an Event has the command that makes the change."),
		key("network-name", "name or URL", fromMetadata,
			"The network of the nodes. Firewalls and routes that exist in another network stay there."),
		key("subnetwork-name", "name or URL", "the region's subnet in 10.128.0.0/9 of a network with automatic subnets",
			"The subnet of internal load balancers. A network with custom subnets needs it. Changing it while internal load "+
				"balancers exist is held until it is approved: they would get other addresses."),
		key("stack-type", "IPV4, IPV4_IPV6 or IPV6", "IPV4",
			"With IPV6, the IPv6 addresses of nodes come first. Other values have no effect."),
		key("secondary-range-name", "string", "", "The secondary range of the subnetwork whose alias IP ranges are "+
			"podCIDRs, for instances that have several alias IP ranges. A single one is used whatever its name."),
		key("node-tags", "network tag, may be repeated", "the longest tag of each instance with which its name begins",
			"The network tags of the nodes, which are the targets of firewalls. All nodes need one of them to receive "+
				"traffic of load balancers. Changing it changes all firewalls."),
		key("node-instance-prefix", "string", "", "Only instances whose name begins with it are listed for nodes. "+
			"Nodes of other "+
			"instances are looked up one by one."),
		key("regional", "bool", "false", "The same as multizone."),
		key("multizone", "bool", "false",
			"Whether the nodes are in all zones of the region. With false, a node without a provider ID is looked up in "+
				"local-zone first, and in the other zones of the region then. No node is deleted because of its zone."),
		key("local-zone", "zone", fromMetadata, "The zone of this manager, which determines the region of load balancers."),
		key("api-endpoint", "URL", DefaultEndpoint, "The endpoint of the Compute Engine API, with a slash at "+
			"its end. Access tokens for an endpoint without TLS, which is a simulator, come from a metadata server at "+
			"its address."),
		key("container-api-endpoint", "URL", "", "No effect, accepted for existing files."),
		key("alpha-features", "name, may be repeated", "none",
			"ILBSubsets leaves new internal Services to ingress-gce. SkipIGsManagement leaves instance groups to another "+
				"controller: those of the cluster are used, and never changed."),
	}
}
