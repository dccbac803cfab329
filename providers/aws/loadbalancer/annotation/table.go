package annotation

import (
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// Documentation returns the reference entries of the provider's own annotations.
func Documentation() []intent.Annotation { return table(&Options{}).Documentation() }

// Keys returns the keys of the provider's own annotations.
func Keys() []string { return table(&Options{}).Keys() }

// Vocabulary returns the annotations that the provider reads.
func Vocabulary(provider string) intent.Vocabulary {
	return intent.Vocabulary{Provider: provider, Portable: Portable(), Own: Keys(), OwnPrefixes: Prefixes(),
		Advice: Advice(), NodePorts: intent.NodePortsOptional}
}

// table returns the provider's own annotations, in the order in which Read reports problems. It
// sets the fields of o, which has its Type.
func table(o *Options) intent.Table {
	return slices.Concat(kindTable(o), placementTable(o), targetTable(o), encryptionTable(o), attributeTable(o),
		healthCheckTable(o))
}

// ifClassic returns the parser of a setting of classic load balancers. Network load balancers ignore it,
// whatever its value is, and WarnClassicOnly warns about it.
func (o *Options) ifClassic(set func(string) error) func(string) error {
	if o.Type == Classic {
		return set
	}
	return func(string) error { return nil }
}

// ifNetwork returns the parser of a setting of network load balancers. Classic load balancers ignore it, whatever its
// value is, and WarnNetworkOnly warns about it.
func (o *Options) ifNetwork(set func(string) error) func(string) error {
	if o.Type == Classic {
		return func(string) error { return nil }
	}
	return set
}

// kindTable returns the annotations for the kind and name of the load balancer.
func kindTable(o *Options) intent.Table {
	return intent.Table{
		{
			Key: KeyType, Type: "nlb, nlb-ip or external", Default: "a classic load balancer", Example: "nlb",
			Doc: "nlb creates a network load balancer. nlb-ip and external leave the Service to the AWS Load Balancer " +
				"Controller. Any other value is a classic load balancer. " +
				"It cannot change while the load balancer exists: delete the Service and create it again.",
		},
		{
			Key: KeyInternal, Type: "true or false", Default: "false", Example: "true",
			Doc: "Whether only the VPC reaches the load balancer. Any text other than false makes it internal; one that " +
				"is not true causes a warning. " +
				"It cannot change while the load balancer exists: a change has no effect and causes a warning.",
			Set: o.setInternal,
		},
		{
			Key: KeyName, Type: "name", Default: "the letter a and the Service's UID",
			Example: "web-prod", Empty: intent.EmptyRefused,
			Doc: "The name of a network load balancer: 1 to 32 letters, digits and hyphens. It is read when the load balancer " +
				"is created; a later change has no effect and causes a warning.",
			Set: intent.Store(&o.Name, parseName),
		},
	}
}

// placementTable returns the annotations for subnets, security groups, addresses and tags.
func placementTable(o *Options) intent.Table {
	return intent.Table{
		{
			Key: KeySubnets, Type: "list of subnet IDs or Name tags", Default: "one subnet in each zone",
			Example: "subnet-0a1b2c3d,public-b",
			Doc: "The subnets of the load balancer, one in each zone. Changes apply in place, except that a network load " +
				"balancer keeps its subnet of a zone until the zone is left out for some minutes. Addresses are matched with " +
				"subnets in the order written.",
			Set: intent.Store(&o.Subnets, parseList),
		},
		{
			Key: KeySecurityGroups, Type: "list of security group IDs", Default: "a group of the load balancer's own",
			Example: "sg-0a1b2c3d",
			Doc: "Security groups to use instead of a managed one; their rules are never edited. On a network load balancer " +
				"it needs NLBSecurityGroupMode=Managed in the configuration. Changes apply in place, " +
				"except that a network load balancer created without security groups can never get any.",
			Set: o.setSecurityGroups,
		},
		{
			Key: KeyExtraSecurityGroups, Type: "list of security group IDs", Default: "none", Example: "sg-0a1b2c3d",
			Doc: "Security groups of a classic load balancer in addition to the managed one or those of " +
				KeySecurityGroups + ". " +
				"Changes apply in place. A network load balancer refuses it.",
			Set: intent.Store(&o.ExtraSecurityGroups, parseSecurityGroups),
		},
		{
			Key: KeyAllocations, Type: "list of allocation IDs", Default: "addresses of AWS' choice",
			Example: "eipalloc-0a1b2c3d,eipalloc-1a2b3c4d",
			Doc: "Elastic IPs of a public network load balancer, one for each subnet, in the subnets' order. Changes apply in " +
				"place, and clients must follow. They are kept when the Service is deleted.",
			Set: o.ifNetwork(intent.Store(&o.Allocations, parseListOf(hasIDPrefix("eipalloc-"),
				"the ID of an Elastic IP's allocation, eipalloc-…"))),
		},
		{
			Key: KeyPrivateIPv4, Type: "list of IPv4 addresses", Default: "addresses of AWS' choice",
			Example: "10.0.1.10,10.0.2.10",
			Doc: "Addresses of an internal network load balancer, one for each subnet, in the subnets' order. AWS may reject " +
				"another address in a subnet that stays: list another subnet as well.",
			Set: o.ifNetwork(intent.Store(&o.PrivateIPv4, parseListOf(isIPv4, "an IPv4 address"))),
		},
		{
			Key: KeyIPv6, Type: "list of IPv6 addresses", Default: "addresses of AWS' choice",
			Example: "2001:db8::10,2001:db8:0:1::10", Empty: intent.EmptyRefused,
			Doc: "IPv6 addresses of a dual-stack network load balancer, one for each subnet, in the subnets' order.",
			Set: intent.Store(&o.IPv6, parseListOf(isIPv6, "an IPv6 address")),
		},
		{
			Key: KeyTags, Type: "list of key=value", Default: "none", Example: "team=web,stage=prod",
			Doc: "Tags for every object of the load balancer. The manager's own tags take precedence. A value ends at its " +
				"second equal sign. Changes apply to existing objects; a tag that is removed here is removed there.",
			Set: o.setTags,
		},
	}
}

// targetTable returns the annotations for the nodes that receive traffic, and their registration.
func targetTable(o *Options) intent.Table {
	return intent.Table{
		{
			Key: KeyNodeLabels, Type: "list of key=value", Default: "all nodes", Example: "pool=ingress,edge=",
			Doc: "The labels that a node needs to receive traffic; an empty value requires only the key. Changed labels " +
				"of a node take effect at the next change of the Service or of the set of nodes.",
			Set: o.setNodeLabels,
		},
		{
			Key: KeyTargetType, Type: "instance or ip", Default: "instance", Example: "ip", Empty: intent.EmptyRefused,
			Doc: "How a network load balancer registers nodes: by their instances, or by their internal addresses, of the " +
				"Service's first family. A change replaces the target groups without an interruption.",
			Set: intent.Store(&o.IPTargets, parseTargetType),
		},
	}
}

// encryptionTable returns the annotations for certificates and protocols.
func encryptionTable(o *Options) intent.Table {
	return intent.Table{
		{
			Key: KeyCertificates, Type: "list of ARNs", Default: "no encryption",
			Example: "arn:aws:acm:us-west-2:123456789012:certificate/12345678-1234-1234-1234-123456789012",
			Doc: "The certificate of TLS listeners, of ACM or IAM. On a network load balancer more than one may be listed: " +
				"the first is the default, the others are selected by the server name of a client. Changes apply in place.",
			Set: intent.Store(&o.Certificates,
				parseListOf(arn.MatchString, "the ARN of a certificate: copy it from ACM or IAM")),
		},
		{
			Key: KeyTLSPorts, Type: "list of port numbers or names, or *", Default: "*", Example: "443,https",
			Doc: "The ports of the Service that are encrypted. Without " + KeyCertificates + " it has no effect. Changes " +
				"apply in place.",
			Set: o.setTLSPorts,
		},
		{
			Key: KeyTLSPolicy, Type: "name of a security policy", Default: "AWS' default",
			Example: "ELBSecurityPolicy-TLS13-1-2-2021-06",
			Doc: "The ciphers and versions that encrypted listeners accept. Changes apply in place. Removing it resets a " +
				"classic load balancer to AWS' default; a network load balancer keeps its policy.",
			Set: intent.Store(&o.TLSPolicy, parseTLSPolicy),
		},
		{
			Key: KeyBackendProtocol, Type: "http, https, ssl or tcp", Default: "tcp", Example: "ssl",
			Doc: "The protocol to the nodes. A network load balancer supports only ssl, which encrypts to the node if the " +
				"port is encrypted. Changes apply in place, on a network load balancer by replacing target groups.",
			Set: o.setBackendProtocol,
		},
		{
			Key: KeyProxyProtocol, Type: "*", Default: "off", Example: "*",
			Doc: "Whether a classic load balancer begins connections with a PROXY protocol header, version 1. Network load " +
				"balancers use " + KeyGroupAttributes + " instead.",
			Set: o.ifClassic(intent.Store(&o.ProxyProtocol, parseProxyProtocol)),
		},
	}
}

// attributeTable returns the annotations for attributes of the load balancer and its target groups.
func attributeTable(o *Options) intent.Table {
	return intent.Table{
		{
			Key: KeyCrossZone, Type: "true or false", Default: "false", Example: "true",
			Doc: "Whether every zone sends to the nodes of all zones. Changes apply in place; a change made in the AWS " +
				"console is reverted.",
			Set: intent.Store(&o.CrossZone, parseBool),
		},
		{
			Key: KeyAccessLog, Type: "true or false", Default: "false", Example: "true",
			Doc: "Whether connections are logged to S3. Needs " + KeyAccessLogBucket + ". Changes apply in place.",
			Set: intent.Store(&o.AccessLog.Enabled, parseBool),
		},
		{
			Key: KeyAccessLogInterval, Type: "5 or 60", Default: "AWS' default, 60", Example: "5",
			Doc: "Minutes between two logs of a classic load balancer. Network load balancers have no such setting.",
			Set: o.ifClassic(intent.Store(&o.AccessLog.EmitInterval, parseEmitInterval)),
		},
		{
			Key: KeyAccessLogBucket, Type: "name", Example: "my-logs",
			Doc: "The S3 bucket of access logs. It must allow AWS to write there. Changes apply in place.",
			Set: intent.Store(&o.AccessLog.Bucket, intent.Text),
		},
		{
			Key: KeyAccessLogPrefix, Type: "path", Default: "none", Example: "prod/web",
			Doc: "Prefix of the names of access logs. Changes apply in place.",
			Set: intent.Store(&o.AccessLog.Prefix, intent.Text),
		},
		{
			Key: KeyDraining, Type: "true or false", Default: "false", Example: "true",
			Doc: "Whether a classic load balancer lets open connections finish on nodes that leave.",
			Set: o.ifClassic(intent.Store(&o.DrainConnections, parseBool)),
		},
		{
			Key: KeyDrainTimeout, Type: "seconds", Default: "AWS' default, 300", Example: "60",
			Doc: "Connection draining timeout of a classic load balancer.",
			Set: o.ifClassic(intent.Store(&o.DrainTimeout, parseSeconds(1, 3600))),
		},
		{
			Key: KeyIdleTimeout, Type: "seconds", Default: "60", Example: "300",
			Doc: "Idle timeout of the connections of a classic load balancer. For network load balancers, which " +
				"ignore it, there is load-balancer.unified-ccm.io/idle-timeout.",
			Set: o.ifClassic(intent.Store(&o.IdleTimeout, parseSeconds(1, 4000))),
		},
		{
			Key: KeyGroupAttributes, Type: "list of attribute=value", Default: "AWS' defaults",
			Example: "preserve_client_ip.enabled=false,deregistration_delay.timeout_seconds=60",
			Doc: "Attributes of a network load balancer's target groups: " + strings.Join(GroupAttributeKeys(), ", ") + ". " +
				"Changes apply in place; removing one keeps its value. A classic load balancer refuses it.",
			Set: o.setGroupAttributes,
		},
	}
}

// healthCheckTable returns the annotations for probes of nodes.
func healthCheckTable(o *Options) intent.Table {
	h := &o.HealthCheck
	return intent.Table{
		{
			Key: KeyHealthCheckProtocol, Type: "tcp, http, https; ssl on a classic load balancer",
			Default: "tcp; http with externalTrafficPolicy: Local", Example: "http",
			Doc: "How nodes are probed. Changes apply in place, on a network load balancer by replacing target groups without " +
				"an interruption.",
			Set: intent.Store(&h.Protocol, parseHealthCheckProtocol(o.Type)),
		},
		{
			Key: KeyHealthCheckPort, Type: "port number or traffic-port",
			Default: "traffic-port; the health check node port with externalTrafficPolicy: Local", Example: "10256",
			Doc: "The port of the nodes that is probed. traffic-port is each port's own node port, on a classic load balancer " +
				"the first one's. Changes apply in place.",
			Set: intent.Store(&h.Port, parseHealthCheckPort),
		},
		{
			Key: KeyHealthCheckPath, Type: "path", Default: "/; /healthz with externalTrafficPolicy: Local", Example: "/ready",
			Doc: "The path of HTTP probes. Changes apply in place.",
			Set: o.setHealthCheckPath,
		},
		{
			Key: KeyHealthCheckHealthy, Type: "2 to 10",
			Default: "2 on a classic load balancer and with externalTrafficPolicy: Local, otherwise 3", Example: "2",
			Doc: "Number of successful probes in a row before a node receives traffic. Changes apply in place.",
			Set: intent.Store(&h.Healthy, intent.Int(2, 10)),
		},
		{
			Key: KeyHealthCheckUnhealthy, Type: "2 to 10",
			Default: "6 on a classic load balancer, 2 with externalTrafficPolicy: Local, otherwise 3", Example: "2",
			Doc: "Number of failed probes in a row before a node stops receiving traffic. Changes apply in place.",
			Set: intent.Store(&h.Unhealthy, intent.Int(2, 10)),
		},
		{
			Key: KeyHealthCheckTimeout, Type: "seconds", Default: "5 on a classic load balancer, otherwise AWS' default",
			Example: "6",
			Doc:     "Timeout of a probe; at most the interval. Changes apply in place.",
			Set:     intent.Store(&h.Timeout, parseSeconds(2, 120)),
		},
		{
			Key: KeyHealthCheckInterval, Type: "seconds",
			Default: "10 on a classic load balancer and with externalTrafficPolicy: Local, otherwise 30", Example: "10",
			Doc: "Time between two probes. Changes apply in place, on a network load balancer by replacing target groups " +
				"without an interruption.",
			Set: intent.Store(&h.Interval, parseSeconds(5, 300)),
		},
	}
}
