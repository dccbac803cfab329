package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// Which load balancers a change of a key applies to.
const (
	onlyNew      = " A change applies only to new load balancers."
	alsoExisting = " A change applies to existing load balancers too."
)

// row documents one key of a section.
type row struct{ key, typ, defaultValue, doc string }

func sectionKeys(name string, rows ...row) []provider.ConfigKey {
	keys := make([]provider.ConfigKey, 0, len(rows))
	for _, r := range rows {
		key := provider.ConfigKey{Section: name, Key: r.key, Type: r.typ, Default: r.defaultValue, Doc: r.doc}
		if r.typ == secretType {
			key.Type, key.Secret = "string", true
		}
		keys = append(keys, key)
	}
	return keys
}

// secretType is the type of keys with secrets.
const secretType = "secret"

// Keys documents every key of cloud.conf, in the order of the reference page.
func Keys() []provider.ConfigKey {
	keys := sectionKeys(sectionGlobal,
		slices.Concat(accessRows(), credentialRows(), scopeRows(), transportRows())...)
	keys = append(keys, sectionKeys(sectionMetadata,
		row{"request-timeout", "duration", "", "The older place of request-timeout in [Global], which has precedence."},
		row{"search-order", "configDrive and metadataService", "",
			"Validated but not used: nodes are found by their names and provider IDs."},
	)...)
	keys = append(keys, sectionKeys(sectionLoadBalancer,
		row{"enabled", "bool", "true",
			"Enables load balancers for Services. With false, existing load balancers stay unchanged."},
		row{"internal-lb", "bool", "false",
			"Makes every Service internal, without a floating IP. A Service cannot override it." + alsoExisting},
	)...)
	keys = append(keys, sectionKeys(sectionLoadBalancer,
		slices.Concat(placeRows(), loadBalancerRows(), monitorRows())...)...)
	keys = append(keys, classKeys()...)
	keys = append(keys, sectionKeys(sectionNetworking, nodeRows()...)...)
	return append(keys, sectionKeys(sectionRoute, row{"router-id", "ID", "",
		"The router that gets a route to the pods of each node. Without it, or if Neutron lacks the extension for extra " +
			"routes, there are no pod routes."})...)
}

func accessRows() []row {
	return []row{
		{"auth-url", "URL", "", "Keystone. If the URL ends with /v3, no request for its versions is needed."},
		{"region", "string", "the first in the catalog",
			"The region of this manager. It becomes the label topology.kubernetes.io/region of nodes; without it they " +
				"have none. If it changes while nodes and load balancers exist, the manager looks for them in the other " +
				"region and deletes the nodes that do not exist there."},
		{"os-endpoint-type", "public, internal or admin", endpointPublic, "The interface of the endpoints to call."},
		{"use-clouds", "bool", "false",
			"Reads credentials from a clouds.yaml file. Each key of this section has precedence over the file."},
		{"clouds-file", "path", "",
			"The clouds.yaml file. Without it: the file in the environment variable OS_CLIENT_CONFIG_FILE, else " +
				"clouds.yaml in the working directory, the user's configuration directory, or /etc/openstack."},
		{"cloud", "string", "OS_CLOUD, or the only one", "The entry of clouds.yaml. It implies use-clouds."},
	}
}

func credentialRows() []row {
	return []row{
		{"username", "string", "", "The user, with password. Requires the user's domain."},
		{"user-id", "string", "", "The user by ID, instead of username and domain."},
		{"password", secretType, "",
			"The user's password. Like all credentials it is reloaded when the file changes, without a restart."},
		{"application-credential-id", "string", "", "An application credential. It includes the project."},
		{"application-credential-name", "string", "",
			"An application credential by name, instead of its ID. Requires the user."},
		{"application-credential-secret", secretType, "", "The secret of the application credential."},
		{"token", secretType, "",
			"A token to exchange for others, which expire with it, so it is for short use only. Requires a project."},
		{"trust-id", "string", "",
			"A trust, with which the user below acts for another user in another project. Not with token."},
		{"trustee-id", "string", "user-id", "The trustee by ID."},
		{"trustee-password", secretType, "", "The trustee's password, instead of password."},
	}
}

func scopeRows() []row {
	return []row{
		{"tenant-id", "string", "",
			"The project. In another project the manager does not see the existing load balancers."},
		{"tenant-name", "string", "", "The project by name, instead of its ID. Requires the project's domain."},
		{"domain-id", "string", "",
			"The default domain of user and project. Without a project it is the scope of the token."},
		{"domain-name", "string", "", "The same by name."},
		{"user-domain-id", "string", "domain-id", "The domain of the user."},
		{"user-domain-name", "string", "domain-name", "The same by name."},
		{"tenant-domain-id", "string", "domain-id", "The domain of the project."},
		{"tenant-domain-name", "string", "domain-name", "The same by name."},
	}
}

func transportRows() []row {
	return []row{
		{"ca-file", "path", "the system's",
			"Certificate authorities to trust, in PEM format. Reloaded when the file changes."},
		{"cert-file", "path", "", "A client certificate, in PEM format. Requires key-file."},
		{"key-file", "path", "", "The key of the client certificate."},
		{"tls-insecure", "true", "",
			"Accepts every certificate, which lets anyone on the way read the credentials. Only the exact word true enables " +
				"it."},
		{"request-timeout", "duration", DefaultRequestTimeout.String(),
			"The timeout of one request, including requests for tokens."},
		{"legacy-metrics", "bool", "false",
			"Also exposes the metrics openstack_api_request_duration_seconds, openstack_api_requests_total and " +
				"openstack_api_request_errors_total, and cloudprovider_openstack_reconcile_duration_seconds, _total and " +
				"_errors_total, for existing dashboards."},
	}
}

// placeRows documents the keys that [LoadBalancer] and its classes have in common.
func placeRows() []row {
	return []row{
		{"subnet-id", "ID", "",
			"The subnet of the addresses of load balancers, and of members unless member-subnet-id is set." + onlyNew},
		{"network-id", "ID", "", "The network of the addresses of load balancers." + onlyNew},
		{"member-subnet-id", "ID", "", "The subnet of members." + alsoExisting},
		{"floating-network-id", "ID", "",
			"The network of floating IPs. The default is the first external network that Neutron lists with an IPv4 subnet, " +
				"or with one that the project may not see. Existing floating IPs stay."},
		{"floating-subnet-id", "ID", "", "The subnet of floating IPs. Existing floating IPs stay."},
		{"floating-subnet", "pattern", "",
			"Allowed subnets of floating IPs by name: a glob with *, ?, [ab] and {a,b}, or a regular expression after ~. " +
				"A ! in front selects all others."},
		{"floating-subnet-tags", "list of tags", "",
			"Allowed subnets of floating IPs by tags: any of them, with & in front all of them, with ! in front subnets " +
				"without them."},
	}
}

func loadBalancerRows() []row {
	return []row{
		{"lb-version", lbVersion, lbVersion, "The only supported version."},
		{"lb-provider", strings.Join(octaviaProviders(), ", "), defaultLBProvider,
			"Octavia's provider driver for new load balancers, which determines their features. Existing load balancers " +
				"keep theirs."},
		{"lb-method", strings.Join(algorithms(), ", "),
			fmt.Sprintf("%s, with ovn %s", api.AlgorithmRoundRobin, api.AlgorithmSourceIPPort),
			"The load balancing algorithm of pools." + alsoExisting},
		{"flavor-id", "ID", "", "Octavia's flavor, if the driver has flavors." + onlyNew},
		{"availability-zone", "string", "", "Octavia's availability zone, if the driver has them." + onlyNew},
		{"manage-security-groups", "bool", "false",
			"Opens node ports for load balancers on the nodes' ports. With false, an existing security group for this stays " +
				"as it is until its Service is deleted." + alsoExisting},
		{"node-selector", "label=value list", "",
			"Only nodes with these labels are members. A label without a value matches every value." + alsoExisting},
		{"cascade-delete", "bool", "true",
			"Deletes a load balancer with everything in it by one call, instead of object by object."},
		{"enable-ingress-hostname", "bool", "false",
			"With the PROXY protocol, sets a host name of the address and ingress-hostname-suffix in the Service's " +
				"status instead of the address." + alsoExisting},
		{"ingress-hostname-suffix", "domain", defaultHostnameSuffix,
			"The domain of such host names, which must resolve to the address." + alsoExisting},
		{"default-tls-container-ref", "URL", "",
			"A certificate in Barbican. With it the TCP ports of all Services terminate TLS, unless a Service overrides " +
				"it." + alsoExisting},
		{"container-store", "barbican or external", storeBarbican,
			"With barbican, the certificate is looked up there before it is used. With external, only the driver reads it."},
		{"max-shared-lb", "integer", "2",
			"The max number of Services that share a load balancer; with 0 none joins another's. Services that share one " +
				"already are not affected."},
		{"provider-requires-serial-api-calls", "bool", "false",
			"Creates a load balancer object by object, for drivers that cannot create all in one call."},
	}
}

func monitorRows() []row {
	rows := []row{
		{"create-monitor", "bool", "false", "Enables health monitors. Without them failed nodes keep getting traffic."},
		{"monitor-delay", "duration", defaultMonitorDelay.String(), "The time between two health checks, in whole seconds."},
		{"monitor-timeout", "duration", defaultMonitorTimeout.String(),
			"The timeout of a health check, usually at most monitor-delay."},
		{"monitor-max-retries", "integer from 1 to 10", "1",
			"The number of consecutive successes after which a member is healthy."},
		{"monitor-max-retries-down", "integer from 1 to 10", "3",
			"The number of consecutive failures after which a member is unhealthy."},
	}
	for i := range rows {
		rows[i].doc += alsoExisting
	}
	return rows
}

func classKeys() []provider.ConfigKey {
	rows := placeRows()
	for i := range rows {
		rows[i].doc = fmt.Sprintf(
			"As %s in [LoadBalancer], for Services with the annotation loadbalancer.openstack.org/class: NAME.", rows[i].key)
	}
	return sectionKeys(sectionClass+` "NAME"`, rows...)
}

func nodeRows() []row {
	return []row{
		{"ipv6-support-disabled", "bool", "false", "Ignores IPv6 addresses of nodes."},
		{"public-network-name", "string, may be repeated", "",
			"Networks with external addresses of nodes."},
		{"internal-network-name", "string, may be repeated", "all",
			"The only networks with internal addresses of nodes."},
		{"address-sort-order", "list of CIDR", "",
			"The order of nodes' addresses, of which the first internal one is used: those in the first range come first, " +
				"and those in no range last. A change changes the addresses of nodes, and with them the members of load " +
				"balancers and the targets of routes."},
	}
}
