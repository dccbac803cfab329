package annotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Bounds of values, from Octavia's API: the largest number it stores for limits and timeouts, one
// day for the latter, and ten probes.
const (
	maxLimit   = 1<<31 - 1
	maxTimeout = 24 * 3600 * 1000
	maxProbes  = 10
	maxDelay   = time.Hour
)

// table is every annotation of the provider's own.
func table() []entry {
	return slices.Concat(placement(), floating(), traffic(), timeouts(), probes(), tagging())
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// placement is which load balancer there is, and where.
func placement() []entry {
	return []entry{
		{doc: provider.Annotation{Key: KeyInternal, Type: "true or false", Default: "[LoadBalancer] internal-lb", Example: "true",
			Doc: "Whether the load balancer has no floating IP. Changes apply in place: the floating IP goes or comes. Where the configuration sets internal-lb, every load balancer is internal."},
			read: func(o *Options, v string) (err error) { o.Internal, err = boolPointer(v); return err }},
		{doc: provider.Annotation{Key: KeyLoadBalancerID, Type: "ID of a load balancer", Default: "written by the manager", Example: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d",
			Doc: "The load balancer to use. The manager writes it when it has made one. Set it to share the load balancer of another Service, or to use one of your own, which then outlives the Service. " +
				"An ID of a load balancer that is gone is dropped, and one is made or found by its name."},
			read: func(o *Options, v string) error {
				read, err := id(v)
				if err == nil {
					o.LoadBalancerID = *read
				}
				return err
			}},
		{doc: provider.Annotation{Key: KeyLoadBalancerAddress, Type: "IP address", Default: "written by the manager", Example: "198.51.100.7",
			Doc: "The address of the load balancer, for people and tools. The manager writes it and never reads it."},
			read: func(*Options, string) error { return nil }},
		{doc: provider.Annotation{Key: KeyMembers, Type: "text", Default: "written by the manager", Example: "8a7c6c2e-3:0123456789:abcdef0123",
			Doc: "What the members of the load balancer's pools are, by which a manager that starts need not read them one pool after the other. It can be removed at any time: it is written again."},
			read: func(*Options, string) error { return nil }},
		{doc: provider.Annotation{Key: KeyClass, Type: "name of a class", Default: "none", Example: "internet",
			Doc: "The section [LoadBalancerClass \"name\"] of the configuration that says where addresses come from. Its floating network and subnets win over the Service's own annotations; for the rest the annotations win."},
			read: func(o *Options, v string) error { o.Class = v; return nil }},
		{doc: provider.Annotation{Key: KeySubnetID, Type: "ID of a subnet", Default: "[LoadBalancer] subnet-id", Example: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d",
			Doc: "The subnet of the load balancer's address. A change on a live Service replaces the load balancer if it is this Service's alone: clients of an internal one have to follow."},
			empty: true, read: func(o *Options, v string) (err error) { o.Place.SubnetID, err = id(v); return err }},
		{doc: provider.Annotation{Key: KeyNetworkID, Type: "ID of a network", Default: "[LoadBalancer] network-id", Example: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d",
			Doc: "The network of the load balancer's address, where no subnet is named. A change on a live Service replaces the load balancer like one of subnet-id."},
			empty: true, read: func(o *Options, v string) (err error) { o.Place.NetworkID, err = id(v); return err }},
		{doc: provider.Annotation{Key: KeyMemberSubnetID, Type: "ID of a subnet", Default: "the subnet of the configuration or of the address", Example: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d",
			Doc: "The subnet from which the load balancer reaches the nodes. A change applies to a live Service: its members are made anew."},
			empty: true, read: func(o *Options, v string) (err error) { o.Place.MemberSubnetID, err = id(v); return err }},
		{doc: provider.Annotation{Key: KeyPortID, Type: "ID of a port", Default: "a port of the load balancer's own", Example: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d",
			Doc: "A Neutron port of yours that gives the load balancer its address, and outlives it. Subnet and network are then the port's. A change on a live Service replaces the load balancer."},
			read: func(o *Options, v string) error {
				read, err := id(v)
				if err == nil {
					o.PortID = *read
				}
				return err
			}},
		{doc: provider.Annotation{Key: KeyFlavorID, Type: "ID of an Octavia flavor", Default: "[LoadBalancer] flavor-id", Example: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d",
			Doc: "The size of the load balancer. Not for the provider ovn. A change on a live Service replaces the load balancer if it is this Service's alone."},
			empty: true, read: func(o *Options, v string) (err error) { o.FlavorID, err = text(v); return err }},
		{doc: provider.Annotation{Key: KeyAvailabilityZone, Type: "name of an Octavia availability zone", Default: "[LoadBalancer] availability-zone", Example: "az-1",
			Doc: "Where the load balancer runs. Not for the provider ovn. A change on a live Service replaces the load balancer if it is this Service's alone."},
			empty: true, read: func(o *Options, v string) (err error) { o.AvailabilityZone, err = text(v); return err }},
		{doc: provider.Annotation{Key: KeyHostname, Type: "host name", Default: "none", Example: "web.example.org",
			Doc: "The Service's status shows this name instead of addresses. Changes apply at once; nothing in the cloud changes."},
			read: func(o *Options, v string) error { o.Hostname = v; return nil }},
		{doc: provider.Annotation{Key: KeyNodeSelector, Type: "list of label=value or label", Default: "[LoadBalancer] node-selector", Example: "pool=edge,zone",
			Doc: "Only nodes with all these labels receive traffic. Changes apply to a live Service; a change of a node's labels counts at the next sync."},
			empty: true, read: func(o *Options, v string) error {
				o.NodeLabels, o.HasNodeLabels = ParseNodeLabels(v), true
				return nil
			}},
	}
}

// floating is about floating IPs.
func floating() []entry {
	return []entry{
		{doc: provider.Annotation{Key: KeyFloatingNetworkID, Type: "ID of an external network", Default: "[LoadBalancer] floating-network-id, else the first external network", Example: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d",
			Doc: "Where the floating IP comes from. An empty value ignores the configured one. It is read when a floating IP is made; one that the load balancer has stays."},
			empty: true, read: func(o *Options, v string) (err error) { o.Place.FloatingNetworkID, err = id(v); return err }},
		{doc: provider.Annotation{Key: KeyFloatingSubnetID, Type: "ID of a subnet", Default: "[LoadBalancer] floating-subnet-id", Example: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d",
			Doc: "The subnet of the floating IP. It wins over floating-subnet and floating-subnet-tags. It is read when a floating IP is made."},
			empty: true, read: func(o *Options, v string) (err error) { o.Place.FloatingSubnetID, err = id(v); return err }},
		{doc: provider.Annotation{Key: KeyFloatingSubnet, Type: "glob, or expression behind a tilde", Default: "[LoadBalancer] floating-subnet", Example: "public-*",
			Doc: "Names of subnets for the floating IP, tried one after the other until one has an address left. The whole name has to match; a leading exclamation mark negates. It is read when a floating IP is made."},
			empty: true, read: func(o *Options, v string) error {
				if _, err := ParsePattern(v); err != nil {
					return err
				}
				o.Place.FloatingSubnet = &v
				return nil
			}},
		{doc: provider.Annotation{Key: KeyFloatingSubnetTags, Type: "list of tags", Default: "[LoadBalancer] floating-subnet-tags", Example: "public,ipv4",
			Doc: "Tags of subnets for the floating IP: any of the list, or all of it behind an ampersand; a leading exclamation mark negates. It is read when a floating IP is made."},
			empty: true, read: func(o *Options, v string) error { o.Place.FloatingSubnetTags = &v; return nil }},
		{doc: provider.Annotation{Key: KeyKeepFloatingIP, Type: "true or false", Default: "false", Example: "true",
			Doc: "Whether the floating IP outlives the Service, detached. It is remembered on the floating IP, so that it counts also when the Service is gone."},
			read: func(o *Options, v string) (err error) { o.KeepFloatingIP, err = boolean(v); return err }},
	}
}

// traffic is what the load balancer does with connections.
func traffic() []entry {
	return []entry{
		{doc: provider.Annotation{Key: KeyMethod, Type: "ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP or SOURCE_IP_PORT", Default: "[LoadBalancer] lb-method; SOURCE_IP_PORT with the provider ovn", Example: "LEAST_CONNECTIONS",
			Doc: "How the node for a connection is chosen. SOURCE_IP_PORT is for the provider ovn, which has no other. Changes apply to a live Service."},
			read: func(o *Options, v string) (err error) {
				o.Method, err = oneOf(v, "ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT")
				return err
			}},
		{doc: provider.Annotation{Key: KeyProxyProtocol, Type: "true, v1, v2 or false", Default: "false", Example: "v2",
			Doc: "Whether connections to the nodes begin with a PROXY protocol header that names the client; true means v1. For TCP ports, and not with the provider ovn. " +
				"A change on a live Service replaces its pools: connections break for a moment."},
			read: func(o *Options, v string) error {
				version, ok := map[string]int{"true": 1, "v1": 1, "v2": 2, "false": 0}[v]
				if !ok {
					return fmt.Errorf("write true, v1, v2 or false")
				}
				o.ProxyProtocol = version
				return nil
			}},
		{doc: provider.Annotation{Key: KeyXForwardedFor, Type: "true or false", Default: "false", Example: "true",
			Doc: "Makes every port an HTTP listener that adds the header X-Forwarded-For. For TCP ports, and not with the provider ovn or PROXY protocol. A change on a live Service replaces listeners and pools: connections break for a moment."},
			read: func(o *Options, v string) (err error) { o.XForwardedFor, err = boolean(v); return err }},
		{doc: provider.Annotation{Key: KeyTLSContainer, Type: "reference of Barbican", Default: "[LoadBalancer] default-tls-container-ref", Example: "https://barbican.example.org/v1/containers/8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d",
			Doc: "The certificate with which the load balancer ends TLS on all TCP ports; the nodes get HTTP. An empty value ignores the configured one. A changed reference applies in place; switching TLS on or off replaces listeners and pools."},
			empty: true, read: func(o *Options, v string) (err error) { o.TLSContainer, err = text(v); return err }},
		{doc: provider.Annotation{Key: KeyConnectionLimit, Type: "-1 or a number of connections", Default: "-1", Example: "10000",
			Doc: "How many connections a listener accepts at once; -1 is no limit. Changes apply to a live Service."},
			read: func(o *Options, v string) (err error) {
				o.ConnectionLimit, err = number(v, -1, maxLimit)
				return err
			}},
	}
}

func timeouts() []entry {
	milliseconds := func(key, standard, what string, field func(*Options) **int) entry {
		return entry{doc: provider.Annotation{Key: key, Type: "milliseconds", Default: standard, Example: "60000",
			Doc: what + " Not for the provider ovn. Changes apply to a live Service."},
			read: func(o *Options, v string) (err error) {
				*field(o), err = number(v, 0, maxTimeout)
				return err
			}}
	}
	return []entry{
		milliseconds(KeyClientTimeout, "50000", "How long a client's connection may be idle.", func(o *Options) **int { return &o.Timeouts.Client }),
		milliseconds(KeyConnectTimeout, "5000", "How long connecting to a node may take.", func(o *Options) **int { return &o.Timeouts.Connect }),
		milliseconds(KeyMemberTimeout, "50000", "How long a connection to a node may be idle.", func(o *Options) **int { return &o.Timeouts.Member }),
		milliseconds(KeyInspectTimeout, "0", "How long to wait for more TCP packets to inspect.", func(o *Options) **int { return &o.Timeouts.Inspect }),
	}
}

// probes is how nodes are probed.
func probes() []entry {
	return []entry{
		{doc: provider.Annotation{Key: KeyMonitor, Type: "true or false", Default: "[LoadBalancer] create-monitor; true with externalTrafficPolicy: Local", Example: "true",
			Doc: "Whether nodes are probed. Without it a dead node keeps its share of connections until it is removed, and externalTrafficPolicy: Local loses those that reach a node without a pod. Changes apply to a live Service."},
			read: func(o *Options, v string) (err error) { o.Monitor.Enabled, err = boolPointer(v); return err }},
		{doc: provider.Annotation{Key: KeyMonitorDelay, Type: "seconds", Default: "[LoadBalancer] monitor-delay", Example: "5",
			Doc: "Time between two probes of a node. Changes apply to a live Service."},
			read: func(o *Options, v string) (err error) { o.Monitor.Delay, err = seconds(v, maxDelay); return err }},
		{doc: provider.Annotation{Key: KeyMonitorTimeout, Type: "seconds", Default: "[LoadBalancer] monitor-timeout", Example: "3",
			Doc: "How long a probe may take, at most the delay. Changes apply to a live Service."},
			read: func(o *Options, v string) (err error) { o.Monitor.Timeout, err = seconds(v, maxDelay); return err }},
		{doc: provider.Annotation{Key: KeyMonitorRetries, Type: "1 to 10", Default: "[LoadBalancer] monitor-max-retries", Example: "1",
			Doc: "How many probes in a row must succeed before a node receives traffic. Changes apply to a live Service."},
			read: func(o *Options, v string) (err error) { o.Monitor.Retries, err = number(v, 1, maxProbes); return err }},
		{doc: provider.Annotation{Key: KeyMonitorDown, Type: "1 to 10", Default: "[LoadBalancer] monitor-max-retries-down", Example: "3",
			Doc: "How many probes in a row must fail before a node receives no more traffic. Changes apply to a live Service."},
			read: func(o *Options, v string) (err error) { o.Monitor.Down, err = number(v, 1, maxProbes); return err }},
	}
}

func tagging() []entry {
	list := func(key, what string, field func(*Options) *[]string) entry {
		return entry{doc: provider.Annotation{Key: key, Type: "list of tags", Default: "none", Example: strings.Join([]string{"team-web", "prod"}, ","),
			Doc: "Octavia tags for " + what + ", beside the manager's own and those of load-balancer.unified-ccm.io/tags. Tags that somebody else set stay."},
			read: func(o *Options, v string) (err error) { *field(o), err = tags(v); return err }}
	}
	return []entry{
		list(KeyLoadBalancerTags, "the load balancer", func(o *Options) *[]string { return &o.LoadBalancerTags }),
		list(KeyListenerTags, "listeners", func(o *Options) *[]string { return &o.ListenerTags }),
		list(KeyPoolTags, "pools", func(o *Options) *[]string { return &o.PoolTags }),
	}
}
