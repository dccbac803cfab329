package config

import (
	"fmt"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// Effects of a change on existing load balancers.
const (
	forNew  = " A change is for new load balancers only."
	forLive = " A change is applied to load balancers that exist."
)

// Keys documents every key of cloud.conf, in the order of the reference page.
func Keys() []provider.ConfigKey {
	var keys []provider.ConfigKey
	for _, list := range [][]provider.ConfigKey{
		accessKeys(), credentialKeys(), scopeKeys(), transportKeys(), placeKeys(),
		loadBalancerKeys(), monitorKeys(), classKeys(), nodeKeys(),
	} {
		keys = append(keys, list...)
	}
	return keys
}

func key(section, name, kind, value, doc string) provider.ConfigKey {
	return provider.ConfigKey{Section: section, Key: name, Type: kind, Default: value, Doc: doc}
}

func secretKey(name, doc string) provider.ConfigKey {
	k := key(sectionGlobal, name, "string", "", doc)
	k.Secret = true
	return k
}

func accessKeys() []provider.ConfigKey {
	return []provider.ConfigKey{
		key(sectionGlobal, "auth-url", "URL", "",
			"Keystone. With /v3 at its end no request is spent on asking for versions."),
		key(sectionGlobal, "region", "string", "the first in the catalogue",
			"The region that this manager looks after. It becomes the label topology.kubernetes.io/region of nodes; "+
				"without it they have none. "+
				"Changing it while nodes and load balancers exist makes the manager look for them in the other region, and "+
				"delete the nodes that are not there."),
		key(sectionGlobal, "os-endpoint-type", "public, internal or admin", endpointPublic,
			"Which of its endpoints in the catalogue a service is called at."),
		key(sectionGlobal, "use-clouds", "bool", "false",
			"Whether credentials come from a clouds.yaml file. Keys of this section win over what the file says, one by one."),
		key(sectionGlobal, "clouds-file", "path", "",
			"The clouds.yaml file. Without it: that in the environment variable OS_CLIENT_CONFIG_FILE, else clouds.yaml "+
				"in the working directory, the user's configuration, or /etc/openstack."),
		key(sectionGlobal, "cloud", "string", "OS_CLOUD, or the only one",
			"The entry of clouds.yaml. It implies use-clouds."),
	}
}

func credentialKeys() []provider.ConfigKey {
	return []provider.ConfigKey{
		key(sectionGlobal, "username", "string", "", "The user, with password. Needs the user's domain."),
		key(sectionGlobal, "user-id", "string", "", "The user by ID, instead of username and domain."),
		secretKey("password",
			"The user's password. Like all credentials it is read again when the file changes, without a restart."),
		key(sectionGlobal, "application-credential-id", "string", "",
			"An application credential. The project that it is for is part of it."),
		key(sectionGlobal, "application-credential-name", "string", "",
			"An application credential by name, instead of its ID. Needs the user."),
		secretKey("application-credential-secret", "The secret of the application credential."),
		secretKey("token",
			"A token to exchange for others. They cannot outlive it, so that it is for short use only. Needs a project."),
		key(sectionGlobal, "trust-id", "string", "",
			"A trust, by which the user below acts for another user in another project. Not with token."),
		key(sectionGlobal, "trustee-id", "string", "user-id", "The user that the trust was given to, by ID."),
		secretKey("trustee-password", "The password of that user, instead of password."),
	}
}

func scopeKeys() []provider.ConfigKey {
	return []provider.ConfigKey{
		key(sectionGlobal, "tenant-id", "string", "",
			"The project. With another project the manager sees none of the load balancers that exist."),
		key(sectionGlobal, "tenant-name", "string", "",
			"The project by name, instead of its ID. Needs the project's domain."),
		key(sectionGlobal, "domain-id", "string", "",
			"The domain of user and project, where the keys below do not say. Without a project it is the scope."),
		key(sectionGlobal, "domain-name", "string", "", "The same by name."),
		key(sectionGlobal, "user-domain-id", "string", "domain-id", "The domain of the user."),
		key(sectionGlobal, "user-domain-name", "string", "domain-name", "The same by name."),
		key(sectionGlobal, "tenant-domain-id", "string", "domain-id", "The domain of the project."),
		key(sectionGlobal, "tenant-domain-name", "string", "domain-name", "The same by name."),
	}
}

func transportKeys() []provider.ConfigKey {
	return []provider.ConfigKey{
		key(sectionGlobal, "ca-file", "path", "the system's",
			"Certificate authorities to trust, in PEM form. Read again when it changes."),
		key(sectionGlobal, "cert-file", "path", "", "A client certificate, in PEM form. Needs key-file."),
		key(sectionGlobal, "key-file", "path", "", "The key of the client certificate."),
		key(sectionGlobal, "tls-insecure", "true", "",
			"Accepts every certificate, which lets anyone on the way read the credentials. Only the exact word true "+
				"counts."),
		key(sectionGlobal, "request-timeout", "duration", DefaultRequestTimeout.String(),
			"How long one request may take, those for tokens included."),
		key(sectionGlobal, "legacy-metrics", "bool", "false",
			"Also exposes the metrics openstack_api_request_duration_seconds, openstack_api_requests_total and "+
				"openstack_api_request_errors_total, "+
				"and cloudprovider_openstack_reconcile_duration_seconds, _total and _errors_total, for dashboards that exist."),
		key(sectionMetadata, "request-timeout", "duration", "",
			"The older place of request-timeout in [Global], which wins."),
		key(sectionMetadata, "search-order", "configDrive and metadataService", "",
			"Checked, and not used: nodes are found by their names and provider IDs."),
	}
}

func placeKeys() []provider.ConfigKey {
	lb := func(name, kind, doc string) provider.ConfigKey { return key(sectionLoadBalancer, name, kind, "", doc) }
	return []provider.ConfigKey{
		key(sectionLoadBalancer, "enabled", "bool", "true",
			"Whether the manager looks after Services. With false, load balancers that exist stay as they are."),
		key(sectionLoadBalancer, "internal-lb", "bool", "false",
			"Makes every Service internal, without a floating IP; a Service cannot undo it."+forLive),
		lb("subnet-id", "ID",
			"The subnet of the addresses of load balancers, and of members unless member-subnet-id says otherwise."+forNew),
		lb("network-id", "ID", "The network of the addresses of load balancers."+forNew),
		lb("member-subnet-id", "ID", "The subnet of members."+forLive),
		lb("floating-network-id", "ID",
			"The network that floating IPs come from. Without it the first external network is used. A floating IP that "+
				"exists stays."),
		lb("floating-subnet-id", "ID", "The subnet that floating IPs come from. A floating IP that exists stays."),
		lb("floating-subnet", "pattern",
			"Subnets that floating IPs may come from, by name: with * and ?, or a regular expression after ~. A ! in "+
				"front means all others."),
		lb("floating-subnet-tags", "list of tags",
			"Subnets that floating IPs may come from, by tags: any of them, with & in front all of them, with ! in front "+
				"those without."),
	}
}

func loadBalancerKeys() []provider.ConfigKey {
	lb := func(name, kind, value, doc string) provider.ConfigKey {
		return key(sectionLoadBalancer, name, kind, value, doc)
	}
	return []provider.ConfigKey{
		lb("lb-version", lbVersion, lbVersion, "There is no other."),
		lb("lb-provider", strings.Join(octaviaProviders(), ", "), defaultLBProvider,
			"The driver of new load balancers, which decides what they can do. Load balancers that exist keep theirs."),
		lb("lb-method", strings.Join(algorithms(), ", "),
			fmt.Sprintf("%s, with ovn %s", api.AlgorithmRoundRobin, api.AlgorithmSourceIPPort),
			"How connections are spread over members."+forLive),
		lb("flavor-id", "ID", "", "Octavia's flavor, where the driver has flavors."+forNew),
		lb("availability-zone", "string", "", "Octavia's availability zone, where the driver has them."+forNew),
		lb("manage-security-groups", "bool", "false",
			"Whether node ports are opened for load balancers on the nodes' ports. With false, groups that were "+
				"made before are removed."+forLive),
		lb("node-selector", "label=value list", "",
			"Only nodes with these labels are members; a label without a value must only be there."+forLive),
		lb("cascade-delete", "bool", "true",
			"Whether a load balancer is deleted with everything in it by one call, or piece by piece."),
		lb("enable-ingress-hostname", "bool", "false",
			"With the PROXY protocol, writes a host name made of the address and ingress-hostname-suffix into "+
				"the Service's status instead of the address."+forLive),
		lb("ingress-hostname-suffix", "domain", defaultHostnameSuffix,
			"The domain of such host names, which must lead back to the address."+forLive),
		lb("default-tls-container-ref", "URL", "",
			"A certificate in Barbican. With it the TCP ports of all Services terminate TLS, unless a Service "+
				"says otherwise."+forLive),
		lb("container-store", "barbican or external", storeBarbican,
			"Whether that certificate is looked up in Barbican before it is used, or is the driver's business alone."),
		lb("max-shared-lb", "integer", "2",
			"How many Services may share a load balancer. Those that share one already go on."),
		lb("provider-requires-serial-api-calls", "bool", "false",
			"Makes a load balancer piece by piece, for drivers that cannot take all of it at once."),
	}
}

func monitorKeys() []provider.ConfigKey {
	lb := func(name, kind, value, doc string) provider.ConfigKey {
		return key(sectionLoadBalancer, name, kind, value, doc+forLive)
	}
	return []provider.ConfigKey{
		lb("create-monitor", "bool", "false", "Whether members are probed. Without it dead nodes keep getting traffic."),
		lb("monitor-delay", "duration", defaultMonitorDelay.String(), "The time between two probes, in whole seconds."),
		lb("monitor-timeout", "duration", defaultMonitorTimeout.String(),
			"How long an answer may take; no longer than monitor-delay."),
		lb("monitor-max-retries", "integer from 1 to 10", "1", "How many good answers in a row bring a member back."),
		lb("monitor-max-retries-down", "integer from 1 to 10", "3", "How many bad answers in a row take a member out."),
	}
}

func classKeys() []provider.ConfigKey {
	section := sectionClass + ` "NAME"`
	var keys []provider.ConfigKey
	for _, k := range placeKeys() {
		if k.Key == "enabled" || k.Key == "internal-lb" {
			continue
		}
		k.Section = section
		k.Doc = fmt.Sprintf("As %s in [LoadBalancer], for Services with the annotation loadbalancer.openstack.org/class: "+
			"NAME.", k.Key)
		keys = append(keys, k)
	}
	return keys
}

func nodeKeys() []provider.ConfigKey {
	return []provider.ConfigKey{
		key(sectionNetworking, "ipv6-support-disabled", "bool", "false", "Leaves IPv6 addresses of nodes out."),
		key(sectionNetworking, "public-network-name", "string, may be repeated", "",
			"Networks whose addresses are external addresses of nodes."),
		key(sectionNetworking, "internal-network-name", "string, may be repeated", "all",
			"The only networks whose addresses are internal addresses of nodes."),
		key(sectionNetworking, "address-sort-order", "list of CIDR", "",
			"The order of nodes' addresses, of which the first internal one is the node's: those in the first range come "+
				"first, and those in no range last. "+
				"Changing it changes the addresses of nodes, and with them the members of load balancers and the targets of "+
				"routes."),
		key(sectionRoute, "router-id", "ID", "",
			"The router that gets a route to the pods of each node. Without it, or where Neutron has no extra routes, "+
				"there are none."),
	}
}
