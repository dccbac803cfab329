package annotation

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// Bounds of values, from Octavia's API: the largest limit that it stores, a year for timeouts, and ten probes.
const (
	maxLimit   = 1<<31 - 1
	maxTimeout = 365 * 24 * 3600 * 1000
	maxProbes  = 10
)

// exampleID is the ID in examples.
const exampleID = "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"

// Documentation returns the reference entries of the provider's own annotations.
func Documentation() []intent.Annotation { return table(&Options{}).Documentation() }

// Keys returns the keys of the provider's own annotations.
func Keys() []string { return table(&Options{}).Keys() }

// table returns the provider's own annotations, in the order in which Read reports problems. It
// sets the fields of o.
func table(o *Options) intent.Table {
	return slices.Concat(identityTable(o), placementTable(o), floatingTable(o), trafficTable(o), timeoutTable(o),
		monitorTable(o), tagTable(o))
}

// identityTable returns the annotations that select the load balancer of the Service, and those that the manager
// writes.
func identityTable(o *Options) intent.Table {
	return intent.Table{
		{
			Key: KeyInternal, Type: "true or false", Default: "[LoadBalancer] internal-lb", Example: "true",
			Doc: "Whether the load balancer has no floating IP. Changes apply in place: the floating IP is released or " +
				"allocated. If the configuration sets internal-lb, every load balancer is internal.",
			Set: intent.StorePointer(&o.Internal, parseBool),
		},
		{
			Key: KeyLoadBalancerID, Type: "ID of a load balancer", Default: "written by the manager", Example: exampleID,
			Doc: "The load balancer to use. The manager writes it after it has created one. Set it to share the load " +
				"balancer of another Service of the namespace, or of one that lets this one in by " + KeyGuests + ", or to use " +
				"one of your own, which then outlives the Service. The ID of a deleted " +
				"load balancer is dropped, and one is created or found by its name.",
			Set: intent.Store(&o.LoadBalancerID, parseID),
		},
		{
			Key: KeyGuests, Type: "list of namespace/name or namespace/*", Default: "Services of the same namespace",
			Example: "shop/web,monitoring/*", Empty: intent.EmptyAllowed,
			Doc: "Services of other namespaces that may share this Service's load balancer with load-balancer-id. One that " +
				"shares it already goes on. If it is set, even to an empty value, the load balancer is deleted with this " +
				"Service unless a Service of the list or of the namespace still uses it; without it, any Service that uses it " +
				"keeps it.",
			Set: intent.StorePointer(&o.Guests, parseGuests),
		},
		{
			Key: KeyLoadBalancerAddress, Type: "IP address", Default: "written by the manager", Example: "198.51.100.7",
			Doc: "The address of the load balancer, for users and tools. The manager writes it and never reads it.",
		},
		{
			Key: KeyMembers, Type: "text", Default: "written by the manager", Example: "8a7c6c2e-3:0123456789:abcdef0123",
			Doc: "Checksums of the members of the load balancer's pools, so that a restarted manager need not read them " +
				"pool by pool. It can be removed at any time: it is written again.",
		},
		{
			Key: KeyFailoverRefused, Type: "ID", Default: "written by the manager",
			Example: exampleID,
			Doc: "The load balancer in the state ERROR of which Octavia refused the failover, so that its replacement is " +
				"planned instead. Remove it to plan the failover again.",
		},
	}
}

// placementTable returns the annotations for the place of the load balancer, and for the nodes that it reaches.
func placementTable(o *Options) intent.Table {
	p := &o.Place
	return intent.Table{
		{
			Key: KeyClass, Type: "name of a class", Default: "none", Example: "internet",
			Doc: "The section [LoadBalancerClass \"name\"] of the configuration for addresses. Its floating network and " +
				"subnets override the Service's own annotations; otherwise the annotations override it.",
			Set: intent.Store(&o.Class, intent.Text),
		},
		{
			Key: KeySubnetID, Type: "ID of a subnet", Default: "[LoadBalancer] subnet-id", Example: exampleID,
			Doc: "The subnet of the load balancer's address. A change on a live Service replaces the load balancer if it is " +
				"this Service's alone: clients of an internal one have to follow.",
			Set: intent.Store(&p.SubnetID, parseID),
		},
		{
			Key: KeyNetworkID, Type: "ID of a network", Default: "[LoadBalancer] network-id", Example: exampleID,
			Doc: "The network of the load balancer's address, if no subnet is set. A change on a live Service replaces the " +
				"load balancer like one of subnet-id.",
			Set: intent.Store(&p.NetworkID, parseID),
		},
		{
			Key: KeyMemberSubnetID, Type: "ID of a subnet",
			Default: "the subnet of the configuration or of the address", Example: exampleID,
			Doc: "The subnet from which the load balancer reaches the nodes. A change applies to a live Service: its " +
				"members are replaced.",
			Set: intent.Store(&p.MemberSubnetID, parseID),
		},
		{
			Key: KeyPortID, Type: "ID of a port", Default: "a port of the load balancer's own", Example: exampleID,
			Doc: "Your own Neutron port with the address of the load balancer, which outlives it. Subnet and network are " +
				"then the port's. A change on a live Service replaces the load balancer.",
			Set: intent.Store(&o.PortID, parseID),
		},
		{
			Key: KeyFlavorID, Type: "ID of an Octavia flavor",
			Default: "[LoadBalancer] flavor-id", Example: exampleID, Empty: intent.EmptyAllowed,
			Doc: "The size of the load balancer. Not for the provider ovn. A change on a live Service replaces the load " +
				"balancer if it is this Service's alone.",
			Set: intent.StorePointer(&o.FlavorID, intent.Text),
		},
		{
			Key: KeyAvailabilityZone, Type: "name of an Octavia availability zone",
			Default: "[LoadBalancer] availability-zone", Example: "az-1", Empty: intent.EmptyAllowed,
			Doc: "Where the load balancer runs. Not for the provider ovn. A change on a live Service replaces the load " +
				"balancer if it is this Service's alone.",
			Set: intent.StorePointer(&o.AvailabilityZone, intent.Text),
		},
		{
			Key: KeyHostname, Type: "host name", Default: "none", Example: "web.example.org",
			Doc: "The Service's status shows this name instead of addresses. Changes apply at once; nothing in the cloud " +
				"changes.",
			Set: intent.Store(&o.Hostname, intent.Text),
		},
		{
			Key: KeyNodeSelector, Type: "list of label=value or label",
			Default: "[LoadBalancer] node-selector", Example: "pool=edge,zone", Empty: intent.EmptyAllowed,
			Doc: "Only nodes with all these labels receive traffic. An empty value ignores the configured one. Changes " +
				"apply to a live Service; a change of a node's labels counts at the next sync.",
			Set: o.setNodeSelector,
		},
	}
}

// floatingTable returns the annotations for floating IPs.
func floatingTable(o *Options) intent.Table {
	p := &o.Place
	return intent.Table{
		{
			Key: KeyFloatingNetworkID, Type: "ID of an external network", Default: "[LoadBalancer] floating-network-id, " +
				"else the first external network", Example: exampleID, Empty: intent.EmptyAllowed,
			Doc: "The network of the floating IP. An empty value ignores the configured one. It is read when a floating IP " +
				"is allocated; an existing one stays.",
			Set: o.setFloatingNetwork,
		},
		{
			Key: KeyFloatingSubnetID, Type: "ID of a subnet", Default: "[LoadBalancer] floating-subnet-id", Example: exampleID,
			Doc: "The subnet of the floating IP. It overrides floating-subnet and floating-subnet-tags. The three are one " +
				"setting: if the class sets any of them, those of the Service have no effect, and if the Service sets any, " +
				"those of the configuration. It is read when a floating IP is allocated.",
			Set: intent.Store(&p.FloatingSubnetID, parseID),
		},
		{
			Key: KeyFloatingSubnet, Type: "glob, or expression behind a tilde",
			Default: "[LoadBalancer] floating-subnet", Example: "public-*",
			Doc: "Names of subnets for the floating IP, tried in order until one has a free address. The whole name has to " +
				"match; globs have *, ?, [ab], [!ab] and {a,b}; a leading exclamation mark negates. It is read when a floating " +
				"IP is allocated.",
			Set: intent.Store(&p.FloatingSubnet, checkPattern),
		},
		{
			Key: KeyFloatingSubnetTags, Type: "list of tags",
			Default: "[LoadBalancer] floating-subnet-tags", Example: "public,ipv4",
			Doc: "Tags of subnets for the floating IP: any of the list, or all of it behind an ampersand; a leading " +
				"exclamation mark negates. It is read when a floating IP is allocated.",
			Set: intent.Store(&p.FloatingSubnetTags, intent.Text),
		},
		{
			Key: KeyKeepFloatingIP, Type: "true or false", Default: "false", Example: "true",
			Doc: "Whether the floating IP outlives the Service, detached. It is read when the Service is deleted.",
			Set: intent.Store(&o.KeepFloatingIP, parseBool),
		},
	}
}

// trafficTable returns the annotations for listeners and pools.
func trafficTable(o *Options) intent.Table {
	return intent.Table{
		{
			Key: KeyMethod, Type: "ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP or SOURCE_IP_PORT",
			Default: "[LoadBalancer] lb-method; SOURCE_IP_PORT with the provider ovn", Example: "LEAST_CONNECTIONS",
			Doc: "The load balancing algorithm. SOURCE_IP_PORT is for the provider ovn, which supports no other. Changes " +
				"apply to a live Service.",
			Set: intent.StorePointer(&o.Method, intent.OneOf("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT")),
		},
		{
			Key: KeyProxyProtocol, Type: "true, v1, v2 or false", Default: "false", Example: "v2",
			Doc: "Whether connections to the nodes begin with a PROXY protocol header with the client's address; true means " +
				"v1. For TCP ports, and not with the provider ovn. A change on a live Service replaces its pools: connections " +
				"break for a moment.",
			Set: intent.Store(&o.ProxyProtocol, parseProxyProtocol),
		},
		{
			Key: KeyXForwardedFor, Type: "true or false", Default: "false", Example: "true",
			Doc: "Makes every port an HTTP listener that adds the header X-Forwarded-For. For TCP ports, and not with the " +
				"provider ovn or PROXY protocol. A change on a live Service replaces listeners and pools: connections break " +
				"for a moment.",
			Set: intent.Store(&o.XForwardedFor, parseBool),
		},
		{
			Key: KeyTLSContainer, Type: "reference of Barbican", Default: "[LoadBalancer] default-tls-container-ref",
			Example: "https://barbican.example.org/v1/containers/8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d",
			Empty:   intent.EmptyAllowed,
			Doc: "The certificate with which the load balancer terminates TLS on all TCP ports; the nodes get HTTP. An " +
				"empty value ignores the configured one. A changed reference applies in place; switching TLS on or off " +
				"replaces listeners and pools.",
			Set: intent.StorePointer(&o.TLSContainer, intent.Text),
		},
		{
			Key: KeyConnectionLimit, Type: "-1 or a number of connections", Default: "-1", Example: "10000",
			Doc: "Maximum number of concurrent connections of a listener; -1 is no limit. Changes apply to a live Service.",
			Set: intent.StorePointer(&o.ConnectionLimit, intent.Int(-1, maxLimit)),
		},
	}
}

// timeoutTable returns the annotations for timeouts of connections.
func timeoutTable(o *Options) intent.Table {
	milliseconds := func(key, defaultValue, doc string, option **int) intent.Entry {
		return intent.Entry{
			Key: key, Type: "milliseconds", Default: defaultValue, Example: "60000",
			Doc: doc + " Not for the provider ovn. Changes apply to a live Service.",
			Set: intent.StorePointer(option, intent.Int(0, maxTimeout)),
		}
	}
	t := &o.Timeouts
	return intent.Table{
		milliseconds(KeyClientTimeout, "50000", "Idle timeout of a client's connection.", &t.Client),
		milliseconds(KeyConnectTimeout, "5000", "Timeout of connecting to a node.", &t.Connect),
		milliseconds(KeyMemberTimeout, "50000", "Idle timeout of a connection to a node.", &t.Member),
		milliseconds(KeyInspectTimeout, "0", "Time to wait for more TCP packets to inspect.", &t.Inspect),
	}
}

// monitorTable returns the annotations for health monitors.
func monitorTable(o *Options) intent.Table {
	m := &o.Monitor
	return intent.Table{
		{
			Key: KeyMonitor, Type: "true or false",
			Default: "[LoadBalancer] create-monitor; true with externalTrafficPolicy: Local", Example: "true",
			Doc: "Whether nodes are probed. Without it a failed node keeps its share of connections until it is removed, " +
				"and externalTrafficPolicy: Local loses those that reach a node without a pod. Changes apply to a live Service.",
			Set: intent.StorePointer(&m.Enabled, parseBool),
		},
		{
			Key: KeyMonitorDelay, Type: "seconds", Default: "[LoadBalancer] monitor-delay", Example: "5",
			Doc: "Time between two probes of a node. Changes apply to a live Service.",
			Set: intent.StorePointer(&m.Delay, parseSeconds),
		},
		{
			Key: KeyMonitorTimeout, Type: "seconds", Default: "[LoadBalancer] monitor-timeout", Example: "3",
			Doc: "Timeout of a probe, usually at most the delay. Changes apply to a live Service.",
			Set: intent.StorePointer(&m.Timeout, parseSeconds),
		},
		{
			Key: KeyMonitorRetries, Type: "1 to 10", Default: "[LoadBalancer] monitor-max-retries", Example: "1",
			Doc: "Number of successful probes in a row before a node receives traffic. Changes apply to a live Service.",
			Set: intent.StorePointer(&m.Retries, intent.Int(1, maxProbes)),
		},
		{
			Key: KeyMonitorDown, Type: "1 to 10", Default: "[LoadBalancer] monitor-max-retries-down", Example: "3",
			Doc: "Number of failed probes in a row before a node stops receiving traffic. Changes apply to a live Service.",
			Set: intent.StorePointer(&m.Down, intent.Int(1, maxProbes)),
		},
	}
}

// tagTable returns the annotations for tags of Octavia's objects.
func tagTable(o *Options) intent.Table {
	list := func(key, objects string, option *[]string) intent.Entry {
		return intent.Entry{
			Key: key, Type: "list of tags", Default: "none", Example: "team-web,prod",
			Doc: "Octavia tags for " + objects + ", in addition to the manager's own and those of " + intent.KeyTags +
				". Tags of other clients stay.",
			Set: intent.Store(option, parseTags),
		}
	}
	return intent.Table{
		list(KeyLoadBalancerTags, "the load balancer", &o.LoadBalancerTags),
		list(KeyListenerTags, "listeners", &o.ListenerTags),
		list(KeyPoolTags, "pools", &o.PoolTags),
	}
}

// Prefixes returns the prefixes of the provider's own annotations.
func Prefixes() []string {
	return []string{Prefix, "service.beta.kubernetes.io/openstack-", ownPrefix}
}

// Portable returns the keys of the portable annotations that the provider supports. Octavia has no setting for the
// connections to members that are removed.
func Portable() []string {
	return slices.DeleteFunc(intent.Keys(), func(key string) bool { return key == intent.KeyConnectionDrainingTimeout })
}

// Vocabulary returns the annotations that the provider reads.
func Vocabulary(provider string) intent.Vocabulary {
	return intent.Vocabulary{
		Provider: provider, Portable: Portable(), Own: Keys(), OwnPrefixes: Prefixes(), SCTP: true,
		NodePorts: intent.NodePortsOptional,
		Written:   []string{KeyLoadBalancerAddress, KeyMembers, KeyFailoverRefused},
	}
}
