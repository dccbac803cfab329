package config

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

const (
	sectionGlobal = "Global"
	sectionQuota  = "Quota"

	defaultRegion = "fake-1"
	dataPlaneNone = "none"
)

// Keys documents every key of cloud.conf, in the order of the reference page.
func Keys() []provider.ConfigKey {
	const unusedWithEndpoint = " Not used with endpoint."
	global := func(key, kind, value, doc string) provider.ConfigKey {
		return provider.ConfigKey{Section: sectionGlobal, Key: key, Type: kind, Default: value, Doc: doc}
	}
	token := global("token", "string", "",
		"The token of every request. With an endpoint it must be the token of that cloud; the cloud "+
			"in this process accepts the same. Changing it does not affect existing objects.")
	token.Secret = true
	keys := []provider.ConfigKey{
		global("region", "string", defaultRegion,
			"The region that this manager manages. It becomes the label topology.kubernetes.io/region of nodes. Changing it "+
				"while nodes exist changes their labels."),
		global("endpoint", "URL", "",
			"Where a fake cloud serves its API, such as http://127.0.0.1:8099. Without it the cloud runs inside this process. With another endpoint the manager sees another cloud, in which its load balancers do not exist and are recreated."),
		token,
		global("adopt-unknown-nodes", "bool", "true",
			"Whether a Node without an instance gets one: nodes of kind and kwok, which run without a cloud, then work "+
				"unchanged. Nodes with provider IDs that begin with kind:// or kwok:// then count as ours. "+
				"With false, an instance exists only "+
				"if it was started explicitly, and the node of a terminated instance is deleted. Use false with several "+
				"clouds: with true, this cloud has the nodes of all others, too."),
		global("instance-type", "string", "the cloud's smallest",
			"The type of instances that are launched for adopted nodes; it becomes the label node.kubernetes.io/instance-type. "+
				"Existing instances keep theirs."),
		global("zone", "string, may be repeated", "the region with a, b and c appended",
			"The zones of the region. Instances in a zone that is removed keep it."+unusedWithEndpoint),
		global("state-file", "path", "",
			"The file with the cloud's state, so that it survives a restart. Several managers may share one file: they share "+
				"one cloud. Without it the cloud is empty after every start, and every load balancer is recreated, possibly with "+
				"another address."+unusedWithEndpoint),
		global("address-pool", "CIDR, may be repeated", "198.51.100.0/24 and 2001:db8::/64",
			"The public addresses of load balancers. The defaults are reserved for documentation and not reachable; with "+
				"data-plane = proxy the default is 127.66.0.0/16. Load balancers keep addresses of a pool that is "+
				"removed."+unusedWithEndpoint),
		global("provision-time", "duration", "0s",
			"Provisioning time of a new load balancer."+unusedWithEndpoint),
		global("latency", "duration", "0s",
			"Latency of every call."+unusedWithEndpoint),
		global("rate-limit", "number", "0",
			"Rate limit of the cloud in calls per second, for reads and for changes; it rejects calls above. 0 is no "+
				"limit."+unusedWithEndpoint),
		global("error-rate", "number from 0 to 1", "0",
			"The probability with which a call fails with an internal error."+unusedWithEndpoint),
		global("seed", "integer", "0",
			"Seed of error-rate, to repeat its failures."+unusedWithEndpoint),
		global("data-plane", "none or proxy", dataPlaneNone,
			"Whether load balancers forward traffic. With proxy they listen on this machine and forward TCP and UDP to the "+
				"nodes' ports, with health checks, source ranges and session affinity. Changing it while load balancers exist "+
				"does not change their addresses."+unusedWithEndpoint),
	}
	for _, q := range (Quota{}).list() {
		keys = append(keys, provider.ConfigKey{Section: sectionQuota, Key: q.name, Type: "integer", Default: "the cloud's",
			Doc: "The most " + q.name + " that can exist at once. What exists beyond a lowered limit " +
				"stays." + unusedWithEndpoint})
	}
	return keys
}
