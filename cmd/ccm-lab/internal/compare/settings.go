package compare

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws"
	"github.com/unified-ccm/unified-ccm/providers/fake"
	"github.com/unified-ccm/unified-ccm/providers/gce"
	"github.com/unified-ccm/unified-ccm/providers/openstack"
	"github.com/unified-ccm/unified-ccm/providers/vsphere"
)

// setting is a setting of a load balancer in portable terms.
type setting string

// The settings. Durations are in seconds.
const (
	healthCheckProtocol  setting = "health check protocol"
	healthCheckPort      setting = "health check port"
	healthCheckPath      setting = "health check path"
	healthCheckInterval  setting = "health check interval"
	healthCheckTimeout   setting = "health check timeout"
	healthyThreshold     setting = "healthy threshold"
	unhealthyThreshold   setting = "unhealthy threshold"
	idleTimeout          setting = "idle timeout"
	proxyProtocol        setting = "PROXY protocol"
	algorithm            setting = "algorithm"
	clientIPAffinity     setting = "client IP affinity"
	loadBalancerSubnet   setting = "subnet"
	tagTeam              setting = "tag team"
	balancerAddress      setting = "addresses"
	addressFamilies      setting = "address families"
	forwardedHeaders     setting = "X-Forwarded headers"
	connectionDraining   setting = "connection draining"
	clientAddress        setting = "client address"
	listenerProtocol     setting = "listener protocol"
	listenerPort         setting = "listener port"
	healthCheckTargetAWS         = "HealthCheck.Target"
	// The values of clientAddress.
	addressKept     = "kept"
	addressReplaced = "replaced by the load balancer's"
)

// field is where a cloud's API shows a setting.
type field struct {
	// kind is that of the object, and name the field, a path pattern.
	kind, name string
	// read converts a value; nil takes it as it is. An empty result means that the value is not about the setting.
	read func(value string) string
}

// settings are the fields of each cloud.
func settings() map[string]map[setting][]field {
	return map[string]map[setting][]field{
		fake.ProviderName: fakeSettings(),
		aws.ProviderName: {
			healthCheckProtocol: {{"target group", "HealthCheckProtocol", nil},
				{classicBalancer, healthCheckTargetAWS, part(1)}},
			healthCheckPort: {{"target group", "HealthCheckPort", nil}, {classicBalancer, healthCheckTargetAWS, part(2)}},
			healthCheckPath: {{"target group", "HealthCheckPath", nil}, {classicBalancer, healthCheckTargetAWS, part(3)}},
			healthCheckInterval: {{"target group", "HealthCheckIntervalSeconds", nil},
				{classicBalancer, "HealthCheck.Interval", nil}},
			healthCheckTimeout: {{"target group", "HealthCheckTimeoutSeconds", nil},
				{classicBalancer, "HealthCheck.Timeout", nil}},
			healthyThreshold: {{"target group", "HealthyThresholdCount", nil},
				{classicBalancer, "HealthCheck.HealthyThreshold", nil}},
			unhealthyThreshold: {{"target group", "UnhealthyThresholdCount", nil},
				{classicBalancer, "HealthCheck.UnhealthyThreshold", nil}},
			idleTimeout: {{"listener", "Attributes.tcp.idle_timeout.seconds", nil},
				{classicBalancer, "Attributes.ConnectionSettings.IdleTimeout", nil}},
			proxyProtocol: {
				{"target group", "Attributes.proxy_protocol_v2.enabled", translate(map[string]string{"true": "v2"})},
				{classicBalancer, "BackendServerDescriptions.*.PolicyNames", constant("v1")}},
			clientIPAffinity:   {{"target group", "Attributes.stickiness.enabled", translate(map[string]string{"true": "on"})}},
			loadBalancerSubnet: {{"load balancer", "AvailabilityZones.*.SubnetId", nil}, {classicBalancer, "Subnets", nil}},
			tagTeam:            {{"load balancer", "Tags.team", nil}, {classicBalancer, "Tags.team", nil}},
			forwardedHeaders: {{classicBalancer, "ListenerDescriptions.*.Listener.Protocol",
				translate(map[string]string{"HTTP": "on", "HTTPS": "on"})}},
			connectionDraining: {{"target group", "Attributes.deregistration_delay.timeout_seconds", nil},
				{classicBalancer, "Attributes.ConnectionDraining.Timeout", nil}},
			listenerProtocol: {{"listener", "Protocol", nil},
				{classicBalancer, "ListenerDescriptions.*.Listener.Protocol", nil}},
			listenerPort: {{"listener", "Port", nil},
				{classicBalancer, "ListenerDescriptions.*.Listener.LoadBalancerPort", nil}},
			clientAddress: {{"target group", "Attributes.preserve_client_ip.enabled",
				translate(map[string]string{"true": addressKept, "false": addressReplaced})},
				{classicBalancer, "Scheme", constant(addressReplaced)}},
			balancerAddress: {{"load balancer", "AvailabilityZones.*.LoadBalancerAddresses.*.AllocationId", nil}},
			addressFamilies: {{"load balancer", "IpAddressType", translate(map[string]string{"ipv4": "IPv4",
				"dualstack": "IPv4, IPv6"})}, {classicBalancer, "Scheme", constant("IPv4")}},
		},
		openstack.ProviderName: {
			healthCheckProtocol: {{"health monitor", "type", nil}},
			healthCheckPort:     {{"member", "monitor_port", nil}},
			healthCheckPath:     {{"health monitor", "url_path", nil}},
			healthCheckInterval: {{"health monitor", "delay", nil}},
			healthCheckTimeout:  {{"health monitor", "timeout", nil}},
			healthyThreshold:    {{"health monitor", "max_retries", nil}},
			unhealthyThreshold:  {{"health monitor", "max_retries_down", nil}},
			idleTimeout: {{"listener", "timeout_client_data", fromMilliseconds},
				{"listener", "timeout_member_data", fromMilliseconds}},
			proxyProtocol: {{"pool", "protocol", translate(map[string]string{"PROXY": "v1", "PROXYV2": "v2"})}},
			algorithm: {{"pool", "lb_algorithm", translate(map[string]string{"ROUND_ROBIN": "round-robin",
				"LEAST_CONNECTIONS": "least-connections", "SOURCE_IP": "source-ip"})}},
			clientIPAffinity:   {{"pool", "session_persistence.type", translate(map[string]string{"SOURCE_IP": "on"})}},
			loadBalancerSubnet: {{"load balancer", "vip_subnet_id", nil}},
			tagTeam:            {{"load balancer", "tags", tagged("team")}},
			forwardedHeaders:   {{"listener", "insert_headers.X-Forwarded-*", translate(map[string]string{"true": "on"})}},
			listenerProtocol:   {{"listener", "protocol", nil}},
			listenerPort:       {{"listener", "protocol_port", nil}},
			balancerAddress:    {{"floating IP", "floating_ip_address", nil}},
			// Amphorae are proxies, OVN rewrites the destination only.
			clientAddress: {{"load balancer", "provider", translate(map[string]string{"amphora": addressReplaced,
				"octavia": addressReplaced, "ovn": addressKept})}},
		},
		gce.ProviderName:     gceSettings(),
		vsphere.ProviderName: vSphereSettings(),
	}
}

// fakeSettings are the fields of the fake cloud.
func fakeSettings() map[setting][]field {
	return map[setting][]field{
		healthCheckProtocol: {{"pool", "healthCheck.protocol", nil}},
		healthCheckPort:     {{"pool", "healthCheck.port", nil}},
		healthCheckPath:     {{"pool", "healthCheck.path", nil}},
		healthCheckInterval: {{"pool", "healthCheck.intervalSeconds", nil}},
		healthCheckTimeout:  {{"pool", "healthCheck.timeoutSeconds", nil}},
		healthyThreshold:    {{"pool", "healthCheck.healthyThreshold", nil}},
		unhealthyThreshold:  {{"pool", "healthCheck.unhealthyThreshold", nil}},
		idleTimeout:         {{"listener", "idleTimeoutSeconds", nil}},
		proxyProtocol:       {{"pool", "proxyProtocol", translate(map[string]string{"1": "v1", "2": "v2"})}},
		algorithm:           {{"pool", "algorithm", nil}},
		clientIPAffinity:    {{"pool", "affinitySeconds", onUnlessZero}},
		loadBalancerSubnet:  {{"load balancer", "subnets", nil}},
		tagTeam:             {{"load balancer", "tags.team", nil}},
		balancerAddress:     {{"load balancer", "addresses", nil}},
		listenerProtocol:    {{"listener", "protocol", nil}},
		listenerPort:        {{"listener", "port", nil}},
	}
}

// vSphereSettings are the fields of NSX-T.
func vSphereSettings() map[setting][]field {
	return map[setting][]field{
		healthCheckProtocol: {{"monitor", "resource_type", translate(map[string]string{"LBTcpMonitorProfile": "TCP",
			"LBHttpMonitorProfile": "HTTP"})}},
		healthCheckPort:     {{"monitor", "monitor_port", nil}},
		healthCheckPath:     {{"monitor", "request_url", nil}},
		healthCheckInterval: {{"monitor", "interval", nil}},
		healthCheckTimeout:  {{"monitor", "timeout", nil}},
		healthyThreshold:    {{"monitor", "rise_count", nil}},
		unhealthyThreshold:  {{"monitor", "fall_count", nil}},
		algorithm: {{"pool", "algorithm", translate(map[string]string{"ROUND_ROBIN": "round-robin",
			"LEAST_CONNECTION": "least-connections", "IP_HASH": "source-ip"})}},
		tagTeam:         {{"virtual server", "tags.team", nil}},
		balancerAddress: {{"virtual server", "ip_address", nil}},
		clientAddress: {{"pool", "snat_translation.type", translate(map[string]string{"LBSnatAutoMap": addressReplaced,
			"LBSnatIpPool": addressReplaced, "LBSnatDisabled": addressKept})}},
		listenerProtocol: {{"virtual server", "application_profile_path", nil}},
		listenerPort:     {{"virtual server", "ports", nil}},
	}
}

// gceSettings are the fields of Compute Engine.
func gceSettings() map[setting][]field {
	affinity := translate(map[string]string{"NONE": "", "CLIENT_IP": "on"})
	return map[setting][]field{
		healthCheckProtocol: {{legacyCheck, "port", constant("HTTP")}, {"health check", "type", nil}},
		healthCheckPort:     {{legacyCheck, "port", nil}, {"health check", "httpHealthCheck.port", nil}},
		healthCheckPath: {
			{legacyCheck, "requestPath", nil},
			{"health check", "httpHealthCheck.requestPath", nil},
		},
		healthCheckInterval: {{legacyCheck, "checkIntervalSec", nil}, {"health check", "checkIntervalSec", nil}},
		healthCheckTimeout:  {{legacyCheck, "timeoutSec", nil}, {"health check", "timeoutSec", nil}},
		healthyThreshold:    {{legacyCheck, "healthyThreshold", nil}, {"health check", "healthyThreshold", nil}},
		unhealthyThreshold:  {{legacyCheck, "unhealthyThreshold", nil}, {"health check", "unhealthyThreshold", nil}},
		clientIPAffinity:    {{"target pool", "sessionAffinity", affinity}, {"backend service", "sessionAffinity", affinity}},
		loadBalancerSubnet:  {{"forwarding rule", "subnetwork", path.Base}},
		balancerAddress:     {{"forwarding rule", "IPAddress", nil}},
		// Both kinds pass packets through.
		clientAddress:    {{"forwarding rule", "IPProtocol", constant(addressKept)}},
		listenerProtocol: {{"forwarding rule", "IPProtocol", nil}},
		listenerPort:     {{"forwarding rule", "portRange", nil}, {"forwarding rule", "ports", nil}},
	}
}

const (
	classicBalancer = "classic load balancer"
	// legacyCheck is the kind of health check of target pools. It speaks HTTP only.
	legacyCheck = "http health check"
)

// valuesOf returns the different values of a setting in objects of a cloud, sorted.
func valuesOf(provider string, name setting, objects []world.Object) []string {
	var out []string
	for _, f := range settings()[provider][name] {
		for _, o := range objects {
			if o.Kind == f.kind {
				out = append(out, f.values(o)...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (f field) values(o world.Object) []string {
	var out []string
	for name, value := range o.Fields {
		if ok, _ := path.Match(f.name, name); !ok { // The patterns are constants.
			continue
		}
		if f.read != nil {
			value = f.read(value)
		}
		if value != "" {
			out = append(out, value)
		}
	}
	return out
}

// checkReservedAddresses checks that the load balancer uses the reserved addresses.
func checkReservedAddresses(s *state) []report.Check {
	want := slices.Sorted(slices.Values(s.fixtures.reserved))
	return has(balancerAddress, strings.Join(want, ", "))(s)
}

// has checks a setting of all objects of the Service.
func has(name setting, want string) effect {
	return func(s *state) []report.Check {
		got := valuesOf(s.Provider, name, s.created)
		return []report.Check{s.check(string(name), want, strings.Join(got, ", "))}
	}
}

// terminatesTLS checks on which ports the load balancer terminates TLS. The objects and their fields of a setting
// are in the same order for protocols and ports.
func terminatesTLS(want string) effect {
	return func(s *state) []report.Check {
		var got []string
		for _, o := range s.created {
			protocols, ports := settings()[s.Provider][listenerProtocol], settings()[s.Provider][listenerPort]
			for i, f := range protocols {
				if o.Kind != f.kind {
					continue
				}
				for name, protocol := range o.Fields {
					if ok, _ := path.Match(f.name, name); ok && slices.Contains(tlsProtocols, protocol) {
						got = append(got, o.Fields[sibling(name, f.name, ports[i].name)])
					}
				}
			}
		}
		slices.Sort(got)
		return []report.Check{s.check("TLS ports", want, strings.Join(got, ", "))}
	}
}

// tlsProtocols are the protocols of listeners with TLS, in the words of all clouds.
var tlsProtocols = []string{"TLS", "SSL", "HTTPS", "TERMINATED_HTTPS"}

// sibling returns the name of a field beside another one: patterns differ only after the last dot.
func sibling(name, pattern, other string) string {
	last := func(text string) string { return text[strings.LastIndex(text, ".")+1:] }
	return strings.TrimSuffix(name, last(pattern)) + last(other)
}

// translate translates values. Others are not about the setting.
func translate(words map[string]string) func(string) string {
	return func(value string) string { return words[value] }
}

// constant replaces every value.
func constant(text string) func(string) string { return func(string) string { return text } }

// onUnlessZero reads a duration that switches a setting on.
func onUnlessZero(value string) string {
	if value == "0" {
		return ""
	}
	return "on"
}

// fromMilliseconds converts to seconds.
func fromMilliseconds(value string) string { return strings.TrimSuffix(value, "000") }

// checkTarget matches a health check of a classic load balancer: protocol, port and path.
var checkTarget = regexp.MustCompile(`^([A-Z]+):(\d+)(/.*)?$`)

// part returns a part of a health check of a classic load balancer.
func part(number int) func(string) string {
	return func(value string) string {
		if parts := checkTarget.FindStringSubmatch(value); parts != nil {
			return parts[number]
		}
		return ""
	}
}

// tagged returns the value of a tag in a list of key=value.
func tagged(key string) func(string) string {
	return func(list string) string {
		for tag := range strings.SplitSeq(list, ", ") {
			if value, ok := strings.CutPrefix(tag, key+"="); ok {
				return value
			}
		}
		return ""
	}
}
