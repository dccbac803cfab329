package annotation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// table is every annotation of the provider's own.
func table() []entry {
	return slices.Concat(kind(), placement(), targets(), tls(), settings(), probes())
}

// kind is which load balancer there is.
func kind() []entry {
	return []entry{
		{
			doc: provider.Annotation{Key: KeyType, Type: "nlb, nlb-ip or external", Default: "a classic load balancer", Example: "nlb",
				Doc: "nlb makes a network load balancer. nlb-ip and external leave the Service to the AWS Load Balancer Controller. Anything else is a classic load balancer. " +
					"It cannot change while the load balancer exists: delete the Service and create it again."},
			read: func(*Options, string) error { return nil }, // TypeOf reads it
		},
		{
			doc: provider.Annotation{Key: KeyInternal, Type: "true or false", Default: "false", Example: "true",
				Doc: "Whether only the VPC reaches the load balancer. Any text other than false makes it internal, and one that is not true is warned about. " +
					"It cannot change while the load balancer exists: a change has no effect and is warned about."},
			read: func(o *Options, value string) error {
				o.Internal = value != "" && value != "false"
				if o.Internal && value != "true" {
					o.warnf(KeyInternal, "%q makes the load balancer internal, as every text but false does; write true or false", value)
				}
				return nil
			},
		},
		{
			doc: provider.Annotation{Key: KeyName, Type: "name", Default: "the letter a and the Service's UID", Example: "web-prod",
				Doc: "The name of a network load balancer: 1 to 32 letters, digits and hyphens. It is read when the load balancer is created; a later change has no effect and is warned about."},
			read: func(o *Options, value string) error {
				if !balancerName.MatchString(value) || strings.HasPrefix(value, "internal-") {
					return fmt.Errorf("write 1 to 32 letters, digits and hyphens, without a hyphen at either end and without internal- in front")
				}
				o.Name = value
				return nil
			},
		},
	}
}

// placement is where the load balancer is, and what it is given there.
func placement() []entry {
	return []entry{
		{
			doc: provider.Annotation{Key: KeySubnets, Type: "list of subnet IDs or Name tags", Default: "one subnet in each zone", Example: "subnet-0a1b2c3d,public-b",
				Doc: "The subnets of the load balancer, one in each zone. Changes apply in place. Addresses are matched with them in the order written."},
			read: func(o *Options, value string) (err error) { o.Subnets, err = list(value); return err },
		},
		{
			doc: provider.Annotation{Key: KeySecurityGroups, Type: "list of security group IDs", Default: "a group of the load balancer's own", Example: "sg-0a1b2c3d",
				Doc: "Security groups to use instead of a managed one; their rules are never edited. On a network load balancer it needs NLBSecurityGroupMode=Managed in the configuration. Changes apply in place, " +
					"except that a network load balancer made without security groups can never get any."},
			read: func(o *Options, value string) (err error) {
				o.SecurityGroups, err = listOf(value, withPrefix("sg-"), "the ID of a security group, sg-…")
				return err
			},
		},
		{
			doc: provider.Annotation{Key: KeyExtraSecurityGroups, Type: "list of security group IDs", Default: "none", Example: "sg-0a1b2c3d",
				Doc: "Security groups of a classic load balancer besides the managed one or those of " + KeySecurityGroups + ". Changes apply in place. A network load balancer refuses it."},
			read: func(o *Options, value string) (err error) {
				o.ExtraSecurityGroups, err = listOf(value, withPrefix("sg-"), "the ID of a security group, sg-…")
				return err
			},
		},
		{
			doc: provider.Annotation{Key: KeyAllocations, Type: "list of allocation IDs", Default: "addresses of AWS' choice", Example: "eipalloc-0a1b2c3d,eipalloc-1a2b3c4d",
				Doc: "Elastic IPs of a public network load balancer, one for each subnet, in the subnets' order. Changes apply in place, and clients must follow. They stay yours when the Service goes."},
			read: func(o *Options, value string) (err error) {
				o.Allocations, err = listOf(value, withPrefix("eipalloc-"), "the ID of an Elastic IP's allocation, eipalloc-…")
				return err
			},
		},
		{
			doc: provider.Annotation{Key: KeyPrivateIPv4, Type: "list of IPv4 addresses", Default: "addresses of AWS' choice", Example: "10.0.1.10,10.0.2.10",
				Doc: "Addresses of an internal network load balancer, one for each subnet, in the subnets' order. AWS may refuse another address in a subnet that stays: list another subnet as well."},
			read: func(o *Options, value string) (err error) {
				o.PrivateIPv4, err = listOf(value, isIPv4, "an IPv4 address")
				return err
			},
		},
		{
			doc: provider.Annotation{Key: KeyIPv6, Type: "list of IPv6 addresses", Default: "addresses of AWS' choice", Example: "2001:db8::10,2001:db8:0:1::10",
				Doc: "IPv6 addresses of a dual-stack network load balancer, one for each subnet, in the subnets' order."},
			read: func(o *Options, value string) (err error) {
				o.IPv6, err = listOf(value, isIPv6, "an IPv6 address")
				return err
			},
		},
		{
			doc: provider.Annotation{Key: KeyTags, Type: "list of key=value", Default: "none", Example: "team=web,stage=prod",
				Doc: "Tags for every object of the load balancer, besides the manager's own, which win. A value ends at its second equal sign. Changes apply to objects that exist; a tag that is removed here is removed there."},
			read: func(o *Options, value string) (err error) {
				var cut bool
				if o.Tags, cut, err = pairs(value); cut {
					o.warnf(KeyTags, "a value is cut at its second equal sign; to keep all of it, write load-balancer.unified-ccm.io/tags instead")
				}
				return err
			},
		},
	}
}

// targets is which nodes receive traffic, and how.
func targets() []entry {
	return []entry{
		{
			doc: provider.Annotation{Key: KeyNodeLabels, Type: "list of key=value", Default: "all nodes", Example: "pool=ingress,edge=",
				Doc: "The labels that a node needs to receive traffic; an empty value asks for the key alone. Labels that change on a node count from the next change of the Service or of the set of nodes on."},
			read: func(o *Options, value string) (err error) { o.NodeLabels, _, err = pairs(value); return err },
		},
		{
			doc: provider.Annotation{Key: KeyTargetType, Type: "instance or ip", Default: "instance", Example: "ip",
				Doc: "How a network load balancer registers nodes: by their instances, or by their internal addresses, of the Service's first family. A change replaces the target groups without an interruption."},
			read: func(o *Options, value string) error {
				o.IPTargets = value == "ip"
				return oneOf("instance", "ip")(value)
			},
		},
	}
}

// tls is everything about encryption.
func tls() []entry {
	return []entry{
		{
			doc: provider.Annotation{Key: KeyCertificates, Type: "list of ARNs", Default: "no encryption", Example: "arn:aws:acm:us-west-2:123456789012:certificate/12345678-1234-1234-1234-123456789012",
				Doc: "The certificate of TLS listeners, of ACM or IAM. On a network load balancer more than one may be listed: the first is the default, the others are chosen by the name that a client asks for. Changes apply in place."},
			read: func(o *Options, value string) (err error) {
				o.Certificates, err = listOf(value, arn.MatchString, "the ARN of a certificate: copy it from ACM or IAM")
				return err
			},
		},
		{
			doc: provider.Annotation{Key: KeyTLSPorts, Type: "list of port numbers or names, or *", Default: "*", Example: "443,https",
				Doc: "The ports of the Service that are encrypted. Without " + KeyCertificates + " it has no effect. Changes apply in place."},
			read: func(o *Options, value string) (err error) {
				if value == "*" {
					return nil
				}
				o.TLSPorts, err = list(value)
				return err
			},
		},
		{
			doc: provider.Annotation{Key: KeyTLSPolicy, Type: "name of a security policy", Default: "AWS' default", Example: "ELBSecurityPolicy-TLS13-1-2-2021-06",
				Doc: "The ciphers and versions that encrypted listeners accept. Changes apply in place. Removing it gives a classic load balancer AWS' default again; a network load balancer keeps the policy that it has."},
			read: func(o *Options, value string) error {
				if strings.ContainsAny(value, " ,/") {
					return fmt.Errorf("write the name of one security policy, such as ELBSecurityPolicy-TLS13-1-2-2021-06")
				}
				o.TLSPolicy = value
				return nil
			},
		},
		{
			doc: provider.Annotation{Key: KeyBackendProtocol, Type: "http, https, ssl or tcp", Default: "tcp", Example: "ssl",
				Doc: "What is spoken to the nodes. A network load balancer knows ssl alone, which encrypts to the node where the port is encrypted. Changes apply in place, on a network load balancer by replacing target groups."},
			read: func(o *Options, value string) error {
				o.BackendProtocol = strings.ToLower(value)
				return oneOf("http", "https", "ssl", "tcp")(o.BackendProtocol)
			},
		},
		{
			doc: provider.Annotation{Key: KeyProxyProtocol, Type: "*", Default: "off", Example: "*",
				Doc: "Whether a classic load balancer begins connections with a PROXY protocol header, version 1. Network load balancers use " + KeyGroupAttributes + " instead."},
			read: func(o *Options, value string) error {
				o.ProxyProtocol = value == "*"
				return oneOf("*")(value)
			},
		},
	}
}

// settings are attributes of the load balancer and its target groups.
func settings() []entry {
	return []entry{
		{
			doc: provider.Annotation{Key: KeyCrossZone, Type: "true or false", Default: "false", Example: "true",
				Doc: "Whether every zone sends to the nodes of all zones. Changes apply in place; a change made in the AWS console is reverted."},
			read: func(o *Options, value string) (err error) { o.CrossZone, err = flag(value); return err },
		},
		{
			doc: provider.Annotation{Key: KeyAccessLog, Type: "true or false", Default: "false", Example: "true",
				Doc: "Whether connections are logged to S3. Needs " + KeyAccessLogBucket + ". Changes apply in place."},
			read: func(o *Options, value string) (err error) { o.AccessLog.Enabled, err = flag(value); return err },
		},
		{
			doc: provider.Annotation{Key: KeyAccessLogInterval, Type: "5 or 60", Default: "AWS' default, 60", Example: "5",
				Doc: "Minutes between two logs of a classic load balancer. Network load balancers have no such setting."},
			read: func(o *Options, value string) (err error) {
				minutes, err := number(value, 5, 60)
				if err != nil || minutes != 5 && minutes != 60 {
					return fmt.Errorf("write 5 or 60")
				}
				o.AccessLog.EmitInterval = minute(minutes)
				return nil
			},
		},
		{
			doc: provider.Annotation{Key: KeyAccessLogBucket, Type: "name", Example: "my-logs",
				Doc: "The S3 bucket of access logs. It must allow AWS to write there. Changes apply in place."},
			read: func(o *Options, value string) error { o.AccessLog.Bucket = value; return nil },
		},
		{
			doc: provider.Annotation{Key: KeyAccessLogPrefix, Type: "path", Default: "none", Example: "prod/web",
				Doc: "What the names of access logs begin with. Changes apply in place."},
			read: func(o *Options, value string) error { o.AccessLog.Prefix = value; return nil },
		},
		{
			doc: provider.Annotation{Key: KeyDraining, Type: "true or false", Default: "false", Example: "true",
				Doc: "Whether a classic load balancer lets open connections finish on nodes that leave."},
			read: func(o *Options, value string) (err error) { o.DrainConnections, err = flag(value); return err },
		},
		{
			doc: provider.Annotation{Key: KeyDrainTimeout, Type: "seconds", Default: "AWS' default, 300", Example: "60",
				Doc: "How long a classic load balancer waits for them."},
			read: func(o *Options, value string) (err error) { o.DrainTimeout, err = seconds(value, 1, 3600); return err },
		},
		{
			doc: provider.Annotation{Key: KeyIdleTimeout, Type: "seconds", Default: "60", Example: "300",
				Doc: "How long a classic load balancer keeps a connection without traffic. For network load balancers, which ignore it, there is load-balancer.unified-ccm.io/idle-timeout."},
			read: func(o *Options, value string) error {
				timeout, err := seconds(value, 1, 4000)
				if o.Type == Classic {
					o.IdleTimeout = timeout
				}
				return err
			},
		},
		{
			doc: provider.Annotation{Key: KeyGroupAttributes, Type: "list of attribute=value", Default: "AWS' defaults", Example: "preserve_client_ip.enabled=false,deregistration_delay.timeout_seconds=60",
				Doc: "Attributes of a network load balancer's target groups: " + strings.Join(GroupAttributeKeys(), ", ") + ". Changes apply in place; removing one keeps its value. A classic load balancer refuses it."},
			read: func(o *Options, value string) (err error) {
				o.GroupAttributes, err = readGroupAttributes(value)
				return err
			},
		},
	}
}

// probes are the health checks.
func probes() []entry {
	return []entry{
		{
			doc: provider.Annotation{Key: KeyHealthCheckProtocol, Type: "tcp, http, https; ssl on a classic load balancer", Default: "tcp; http with externalTrafficPolicy: Local", Example: "http",
				Doc: "How nodes are probed. Changes apply in place, on a network load balancer by replacing target groups without an interruption."},
			read: func(o *Options, value string) error {
				o.HealthCheck.Protocol = strings.ToUpper(value)
				if o.Type == Network {
					return oneOf("tcp", "http", "https")(strings.ToLower(value))
				}
				return oneOf("tcp", "http", "https", "ssl")(strings.ToLower(value))
			},
		},
		{
			doc: provider.Annotation{Key: KeyHealthCheckPort, Type: "port number or traffic-port", Default: "traffic-port; the health check node port with externalTrafficPolicy: Local", Example: "10256",
				Doc: "The port of the nodes that is probed. traffic-port is each port's own node port, on a classic load balancer the first one's. Changes apply in place."},
			read: func(o *Options, value string) error {
				if _, err := number(value, 1, 65535); err != nil && value != TrafficPort {
					return fmt.Errorf("write a port number from 1 to 65535, or %s", TrafficPort)
				}
				o.HealthCheck.Port = value
				return nil
			},
		},
		{
			doc: provider.Annotation{Key: KeyHealthCheckPath, Type: "path", Default: "/; /healthz with externalTrafficPolicy: Local", Example: "/ready",
				Doc: "The path that HTTP probes ask for. Changes apply in place."},
			read: func(o *Options, value string) error {
				if !strings.HasPrefix(value, "/") || strings.ContainsAny(value, " \t\n") {
					return fmt.Errorf("write a path that begins with a slash and has no spaces, such as /healthz")
				}
				o.HealthCheck.Path = value
				return nil
			},
		},
		{
			doc: provider.Annotation{Key: KeyHealthCheckHealthy, Type: "2 to 10", Default: "2 on a classic load balancer and with externalTrafficPolicy: Local, otherwise 3", Example: "2",
				Doc: "How many probes in a row must succeed before a node receives traffic. Changes apply in place."},
			read: func(o *Options, value string) (err error) {
				o.HealthCheck.Healthy, err = number(value, 2, 10)
				return err
			},
		},
		{
			doc: provider.Annotation{Key: KeyHealthCheckUnhealthy, Type: "2 to 10", Default: "6 on a classic load balancer, 2 with externalTrafficPolicy: Local, otherwise 3", Example: "2",
				Doc: "How many probes in a row must fail before a node receives no more traffic. Changes apply in place."},
			read: func(o *Options, value string) (err error) {
				o.HealthCheck.Unhealthy, err = number(value, 2, 10)
				return err
			},
		},
		{
			doc: provider.Annotation{Key: KeyHealthCheckTimeout, Type: "seconds", Default: "5 on a classic load balancer, otherwise AWS' default", Example: "6",
				Doc: "How long a probe may take; at most the interval. Changes apply in place."},
			read: func(o *Options, value string) (err error) {
				o.HealthCheck.Timeout, err = seconds(value, 2, 120)
				return err
			},
		},
		{
			doc: provider.Annotation{Key: KeyHealthCheckInterval, Type: "seconds", Default: "10 on a classic load balancer and with externalTrafficPolicy: Local, otherwise 30", Example: "10",
				Doc: "Time between two probes. Changes apply in place, on a network load balancer by replacing target groups without an interruption."},
			read: func(o *Options, value string) (err error) {
				o.HealthCheck.Interval, err = seconds(value, 5, 300)
				return err
			},
		},
	}
}
