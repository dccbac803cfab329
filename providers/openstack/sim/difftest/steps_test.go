package difftest

import (
	"regexp"
	"slices"
)

// acceptance is a difference between simulator and services that may stay: a pattern for it, after the step's name, and
// the reason.
type acceptance struct{ pattern, reason string }

// accepted returns all of them. One that no difference fits any more is an error too.
func accepted() []acceptance {
	const (
		extension = "the lab's Neutron runs without the extension; many clouds have it"
		wider     = "the simulator shows an attribute that all objects have in common, and these have not"
		words     = "other words for the same refusal, and the same status"
	)
	return []acceptance{
		{`has \S*(qos_policy_id|port_forwardings|segment_id|quota\.trunk)`, extension},
		{`(floating IP|floatingips|security_group)\S* ?.*: has \S*\.(name|tags)\b`, wider},
		{`has \S*(floatingips?|security_group\S*)(\[\])?\.(name|tags)\b`, wider},
		{`lacks \S*\.standard_attr_id`, "an internal of Neutron's that it shows in this answer alone"},
		{`lacks \.router\.(ha|ha_vr_id|distributed|gw_port_id)\b`, "internals of Neutron's, which it does not take out of this answer alone"},
		{`lacks \S*\.is_default`, "only external networks have it, and no client reads it"},
		{`(lacks|has) \S*\.image`, "simulated servers are booted from volumes, because there is no Glance beside them"},
		{`has \.(providers_links|pool\.healthmonitor_id)`, "an empty attribute more"},
		{`Neutron server returns request_ids`, "Octavia passes on the number of a request to Neutron"},
		{`load balancers by two IDs: error`, "an error of Octavia's, with the SQL statement that it could not make"},
		{`no load balancer: status 400`, "an error of Octavia's at a request that makes no sense"},
		{`of another revision: error`, "Neutron counts revisions in larger steps"},
		{`UDP pool, PING monitor: error`, "Octavia prints the address of a Python object"},
		{`Value should be one of`, "Octavia lists the choices in any order"},
		{`error\n[^\n]*\n[^\n]*\n[^\n]*(Mandatory field missing|Unknown attribute for argument|Value should be UUID format|is not a 'regex')`, words},
		{`(members of no pool|add a route out of reach|second floating IP at a port|delete a floating IP again|create a second default pool|two IDs): error`, words},
	}
}

// reasonFor returns why a difference is accepted, and which acceptance says so; -1 if none does.
func reasonFor(difference string) (at int) {
	return slices.IndexFunc(accepted(), func(a acceptance) bool { return regexp.MustCompile(a.pattern).MatchString(difference) })
}

// steps returns in order: later ones use what earlier ones made, and the last ones delete all of it.
func steps() []step {
	var out []step
	for _, list := range [][]step{computeSteps(), networkSteps(), groupSteps(), balancerSteps(), childSteps(),
		refusalSteps(), endSteps()} {
		out = append(out, list...)
	}
	return out
}

func computeSteps() []step {
	micro := map[string]string{"OpenStack-API-Version": "compute 2.47"}
	return []step{
		{name: "servers", request: "GET compute/servers"},
		{name: "servers in detail", request: "GET compute/servers/detail?name=^diff-node$", keep: "FLAVOR=servers.0.flavor.id"},
		{name: "servers with a limit", request: "GET compute/servers?limit=1"},
		{name: "servers by bad regular expression", request: "GET compute/servers?name=("},
		{name: "servers with an unknown filter", request: "GET compute/servers?colour=red"},
		{name: "server", request: "GET compute/servers/${SERVER}"},
		{name: "server since 2.47", request: "GET compute/servers/${SERVER}", header: micro},
		{name: "server that does not exist", request: "GET compute/servers/00000000-0000-4000-8000-000000000000"},
		{name: "server of a microversion to come", request: "GET compute/servers/${SERVER}", header: map[string]string{"OpenStack-API-Version": "compute 2.999"}},
		{name: "server of a bad microversion", request: "GET compute/servers/${SERVER}", header: map[string]string{"OpenStack-API-Version": "compute x"}},
		{name: "interfaces", request: "GET compute/servers/${SERVER}/os-interface", keep: "PORT=interfaceAttachments.0.port_id ADDRESS=interfaceAttachments.0.fixed_ips.0.ip_address"},
		{name: "metadata", request: "GET compute/servers/${SERVER}/metadata"},
		{name: "set metadata", request: "POST compute/servers/${SERVER}/metadata", body: `{"metadata": {"k": "v"}}`},
		{name: "delete metadata", request: "DELETE compute/servers/${SERVER}/metadata/k"},
		{name: "delete metadata again", request: "DELETE compute/servers/${SERVER}/metadata/k"},
		{name: "flavor", request: "GET compute/flavors/${FLAVOR}"},
		{name: "flavors", request: "GET compute/flavors/detail"},
		{name: "flavor that does not exist", request: "GET compute/flavors/x"},
		{name: "availability zones", request: "GET compute/os-availability-zone"},
		{name: "start what runs", request: "POST compute/servers/${SERVER}/action", body: `{"os-start": null}`},
	}
}

func networkSteps() []step {
	return []step{
		{name: "networks", request: "GET network/networks"},
		{name: "network", request: "GET network/networks/${PRIVATE_NETWORK}"},
		{name: "external network", request: "GET network/networks/${PUBLIC_NETWORK}"},
		{name: "subnets", request: "GET network/subnets?network_id=${PRIVATE_NETWORK}"},
		{name: "subnets of the external network", request: "GET network/subnets?network_id=${PUBLIC_NETWORK}"},
		{name: "subnet", request: "GET network/subnets/${PRIVATE_SUBNET}"},
		{name: "subnet that does not exist", request: "GET network/subnets/x"},
		{name: "ports of a server", request: "GET network/ports?device_id=${SERVER}", keep: "GROUP=ports.0.security_groups.0"},
		{name: "ports of two devices", request: "GET network/ports?device_id=${SERVER}&device_id=${ROUTER}"},
		{name: "ports with a limit", request: "GET network/ports?limit=1"},
		{name: "ports by fields", request: "GET network/ports?device_id=${SERVER}&fields=id&fields=fixed_ips"},
		{name: "ports by address", request: "GET network/ports?fixed_ips=ip_address%3D${ADDRESS}"},
		{name: "ports with an unknown filter", request: "GET network/ports?colour=red"},
		{name: "ports after a bad marker", request: "GET network/ports?limit=1&marker=x"},
		{name: "port", request: "GET network/ports/${PORT}", keep: "REVISION=port.revision_number"},
		{name: "port that does not exist", request: "GET network/ports/x"},
		{name: "update a port's pairs", request: "PUT network/ports/${PORT}", body: `{"port": {"allowed_address_pairs": [{"ip_address": "10.244.0.0/24"}]}}`},
		{name: "update a port of another revision", request: "PUT network/ports/${PORT}", body: `{"port": {"name": "x"}}`, header: map[string]string{"If-Match": "revision_number=1"}},
		{name: "update a port with bad pairs", request: "PUT network/ports/${PORT}", body: `{"port": {"allowed_address_pairs": [{"ip_address": "x"}]}}`},
		{name: "update a port with an unknown group", request: "PUT network/ports/${PORT}", body: `{"port": {"security_groups": ["00000000-0000-4000-8000-000000000000"]}}`},
		{name: "update a port with an unknown attribute", request: "PUT network/ports/${PORT}", body: `{"port": {"colour": "red"}}`},
		{name: "take a port's pairs away", request: "PUT network/ports/${PORT}", body: `{"port": {"allowed_address_pairs": []}}`},
		{name: "tag a port", request: "PUT network/ports/${PORT}/tags/x"},
		{name: "tags of a port", request: "GET network/ports/${PORT}/tags"},
		{name: "ports by tag", request: "GET network/ports?tags=x&fields=id"},
		{name: "ports without a tag", request: "GET network/ports?not-tags=x&device_id=${SERVER}"},
		{name: "untag a port", request: "DELETE network/ports/${PORT}/tags/x"},
		{name: "untag a port again", request: "DELETE network/ports/${PORT}/tags/x"},
		{name: "routers", request: "GET network/routers"},
		{name: "router", request: "GET network/routers/${ROUTER}"},
		{name: "add routes", request: "PUT network/routers/${ROUTER}/add_extraroutes", body: `{"router": {"routes": [{"destination": "10.244.0.0/24", "nexthop": "${ADDRESS}"}]}}`},
		{name: "add routes again", request: "PUT network/routers/${ROUTER}/add_extraroutes", body: `{"router": {"routes": [{"destination": "10.244.0.0/24", "nexthop": "${ADDRESS}"}]}}`},
		{name: "add a route out of reach", request: "PUT network/routers/${ROUTER}/add_extraroutes", body: `{"router": {"routes": [{"destination": "10.244.1.0/24", "nexthop": "192.0.2.1"}]}}`},
		{name: "add a route with bits of hosts", request: "PUT network/routers/${ROUTER}/add_extraroutes", body: `{"router": {"routes": [{"destination": "10.244.1.7/24", "nexthop": "${ADDRESS}"}]}}`},
		{name: "update a router of another revision", request: "PUT network/routers/${ROUTER}", body: `{"router": {"routes": []}}`, header: map[string]string{"If-Match": "revision_number=0"}},
		{name: "remove routes", request: "PUT network/routers/${ROUTER}/remove_extraroutes", body: `{"router": {"routes": [{"destination": "10.244.0.0/24", "nexthop": "${ADDRESS}"}]}}`},
		{name: "remove routes again", request: "PUT network/routers/${ROUTER}/remove_extraroutes", body: `{"router": {"routes": [{"destination": "10.244.0.0/24", "nexthop": "${ADDRESS}"}]}}`},
		{name: "floating IP of no external network", request: "POST network/floatingips", body: `{"floatingip": {"floating_network_id": "${PRIVATE_NETWORK}"}}`},
		{name: "floating IP of an unknown network", request: "POST network/floatingips", body: `{"floatingip": {"floating_network_id": "00000000-0000-4000-8000-000000000000"}}`},
		{name: "floating IP of one's own choice", request: "POST network/floatingips", body: `{"floatingip": {"floating_network_id": "${PUBLIC_NETWORK}", "floating_ip_address": "172.24.4.200"}}`},
		{name: "floating IP", request: "POST network/floatingips", body: `{"floatingip": {"floating_network_id": "${PUBLIC_NETWORK}", "description": "d", "port_id": "${PORT}"}}`, keep: "FIP=floatingip.id"},
		{name: "second floating IP at a port", request: "POST network/floatingips", body: `{"floatingip": {"floating_network_id": "${PUBLIC_NETWORK}", "port_id": "${PORT}"}}`},
		{name: "floating IPs by port", request: "GET network/floatingips?port_id=${PORT}"},
		{name: "detach a floating IP", request: "PUT network/floatingips/${FIP}", body: `{"floatingip": {"port_id": null}}`},
		{name: "attach a floating IP to nothing", request: "PUT network/floatingips/${FIP}", body: `{"floatingip": {"port_id": "00000000-0000-4000-8000-000000000000"}}`},
		{name: "delete a floating IP", request: "DELETE network/floatingips/${FIP}"},
		{name: "delete a floating IP again", request: "DELETE network/floatingips/${FIP}"},
		{name: "quota", request: "GET network/quotas/${PROJECT}"},
	}
}

func groupSteps() []step {
	rule := `{"security_group_rule": {"security_group_id": "${SG}", "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "port_range_min": 80, "port_range_max": 80, "remote_ip_prefix": "10.0.0.0/8"}}`
	return []step{
		{name: "create a group", request: "POST network/security-groups", body: `{"security_group": {"name": "diff", "description": "d"}}`, keep: "SG=security_group.id"},
		{name: "groups by name", request: "GET network/security-groups?name=diff"},
		{name: "group that does not exist", request: "GET network/security-groups/00000000-0000-4000-8000-000000000000"},
		{name: "create a rule", request: "POST network/security-group-rules", body: rule, keep: "RULE=security_group_rule.id"},
		{name: "create a rule again", request: "POST network/security-group-rules", body: rule},
		{name: "create rules", request: "POST network/security-group-rules", body: `{"security_group_rules": [{"security_group_id": "${SG}", "direction": "ingress", "protocol": "udp", "port_range_min": 1, "port_range_max": 2}, {"security_group_id": "${SG}", "direction": "ingress", "ethertype": "IPv6", "protocol": 6, "port_range_min": 1, "port_range_max": 2}]}`},
		{name: "create a rule of mixed families", request: "POST network/security-group-rules", body: `{"security_group_rule": {"security_group_id": "${SG}", "direction": "ingress", "ethertype": "IPv6", "remote_ip_prefix": "10.0.0.0/8"}}`},
		{name: "create a rule with ports the wrong way round", request: "POST network/security-group-rules", body: `{"security_group_rule": {"security_group_id": "${SG}", "direction": "ingress", "protocol": "tcp", "port_range_min": 2, "port_range_max": 1}}`},
		{name: "create a rule with ports and no protocol", request: "POST network/security-group-rules", body: `{"security_group_rule": {"security_group_id": "${SG}", "direction": "ingress", "port_range_min": 1, "port_range_max": 1}}`},
		{name: "create a rule of a bad direction", request: "POST network/security-group-rules", body: `{"security_group_rule": {"security_group_id": "${SG}", "direction": "up"}}`},
		{name: "create a rule of an unknown group", request: "POST network/security-group-rules", body: `{"security_group_rule": {"security_group_id": "00000000-0000-4000-8000-000000000000", "direction": "ingress"}}`},
		{name: "rules of a group", request: "GET network/security-group-rules?security_group_id=${SG}"},
		{name: "put a group on a port", request: "PUT network/ports/${PORT}", body: `{"port": {"security_groups": ["${GROUP}", "${SG}"]}}`},
		{name: "ports of a group", request: "GET network/ports?security_groups=${SG}"},
		{name: "delete a group in use", request: "DELETE network/security-groups/${SG}"},
		{name: "take a group off a port", request: "PUT network/ports/${PORT}", body: `{"port": {"security_groups": ["${GROUP}"]}}`},
		{name: "delete a rule", request: "DELETE network/security-group-rules/${RULE}"},
		{name: "delete a rule again", request: "DELETE network/security-group-rules/${RULE}"},
		{name: "delete a group", request: "DELETE network/security-groups/${SG}"},
		{name: "delete a group again", request: "DELETE network/security-groups/${SG}"},
	}
}

func balancerSteps() []step {
	return []step{
		{name: "create a load balancer", request: "POST load-balancer/lbaas/loadbalancers", settles: "LB", keep: "LB=loadbalancer.id VIP_PORT=loadbalancer.vip_port_id VIP=loadbalancer.vip_address", body: `{"loadbalancer": {"name": "diff-lb", "description": "d", "vip_subnet_id": "${PRIVATE_SUBNET}", "tags": ["a"],
			"listeners": [{"name": "l0", "protocol": "TCP", "protocol_port": 80, "tags": ["b"], "allowed_cidrs": ["192.0.2.0/24"], "default_pool": {"name": "p0", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN",
				"members": [{"name": "diff-node", "address": "${ADDRESS}", "protocol_port": 30080, "subnet_id": "${PRIVATE_SUBNET}"}],
				"healthmonitor": {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1}}}]}}`},
		{name: "load balancer", request: "GET load-balancer/lbaas/loadbalancers/${LB}", keep: "L0=loadbalancer.listeners.0.id P0=loadbalancer.pools.0.id"},
		{name: "load balancers by name", request: "GET load-balancer/lbaas/loadbalancers?name=diff-lb"},
		{name: "load balancers by VIP port", request: "GET load-balancer/lbaas/loadbalancers?vip_port_id=${VIP_PORT}"},
		{name: "load balancers by tag", request: "GET load-balancer/lbaas/loadbalancers?tags=a"},
		{name: "load balancers with a limit", request: "GET load-balancer/lbaas/loadbalancers?limit=1"},
		{name: "load balancers by fields", request: "GET load-balancer/lbaas/loadbalancers?fields=id&fields=name"},
		{name: "load balancers with an unknown filter", request: "GET load-balancer/lbaas/loadbalancers?colour=red"},
		{name: "load balancers of another project", request: "GET load-balancer/lbaas/loadbalancers?project_id=00000000000000000000000000000000"},
		{name: "load balancers by ID", request: "GET load-balancer/lbaas/loadbalancers?id=${LB}"},
		{name: "load balancers by two IDs", request: "GET load-balancer/lbaas/loadbalancers?id=${LB}&id=x"},
		{name: "load balancers without a tag", request: "GET load-balancer/lbaas/loadbalancers?not-tags=zzz"},
		{name: "load balancers after a bad marker", request: "GET load-balancer/lbaas/loadbalancers?limit=1&marker=x"},
		{name: "load balancer that does not exist", request: "GET load-balancer/lbaas/loadbalancers/00000000-0000-4000-8000-000000000000"},
		{name: "status tree", request: "GET load-balancer/lbaas/loadbalancers/${LB}/status"},
		{name: "statistics", request: "GET load-balancer/lbaas/loadbalancers/${LB}/stats"},
		{name: "VIP port", request: "GET network/ports/${VIP_PORT}"},
		{name: "update a load balancer", request: "PUT load-balancer/lbaas/loadbalancers/${LB}", body: `{"loadbalancer": {"description": null, "tags": ["a", "c"]}}`, settles: "LB"},
		{name: "update a load balancer's VIP", request: "PUT load-balancer/lbaas/loadbalancers/${LB}", body: `{"loadbalancer": {"vip_address": "10.0.0.9"}}`},
		{name: "fail over", request: "PUT load-balancer/lbaas/loadbalancers/${LB}/failover"},
		{name: "delete a load balancer with children", request: "DELETE load-balancer/lbaas/loadbalancers/${LB}"},
		{name: "providers", request: "GET load-balancer/lbaas/providers"},
		{name: "flavors of load balancers", request: "GET load-balancer/lbaas/flavors"},
		{name: "quota of load balancers", request: "GET load-balancer/lbaas/quotas/${PROJECT}"},
		{name: "container that does not exist", request: "GET key-manager/containers/00000000-0000-4000-8000-000000000000"},
		{name: "secret that does not exist", request: "GET key-manager/secrets/00000000-0000-4000-8000-000000000000"},
		{name: "secrets", request: "GET key-manager/secrets"},
	}
}

func childSteps() []step {
	return []step{
		{name: "listeners", request: "GET load-balancer/lbaas/listeners?loadbalancer_id=${LB}"},
		{name: "listener", request: "GET load-balancer/lbaas/listeners/${L0}"},
		{name: "pools", request: "GET load-balancer/lbaas/pools?loadbalancer_id=${LB}", keep: "HM0=pools.0.healthmonitor_id"},
		{name: "pools by listener", request: "GET load-balancer/lbaas/pools?listener_id=${L0}"},
		{name: "pool", request: "GET load-balancer/lbaas/pools/${P0}"},
		{name: "members", request: "GET load-balancer/lbaas/pools/${P0}/members"},
		{name: "members of no pool", request: "GET load-balancer/lbaas/pools/00000000-0000-4000-8000-000000000000/members"},
		{name: "monitors by pool", request: "GET load-balancer/lbaas/healthmonitors?pool_id=${P0}"},
		{name: "monitors by load balancer", request: "GET load-balancer/lbaas/healthmonitors?loadbalancer_id=${LB}"},
		{name: "monitor", request: "GET load-balancer/lbaas/healthmonitors/${HM0}"},
		{name: "create a listener", request: "POST load-balancer/lbaas/listeners", settles: "LB", keep: "L1=listener.id", body: `{"listener": {"loadbalancer_id": "${LB}", "name": "l1", "protocol": "HTTP", "protocol_port": 81, "insert_headers": {"X-Forwarded-For": "true"}}}`},
		{name: "create a pool", request: "POST load-balancer/lbaas/pools", settles: "LB", keep: "P1=pool.id", body: `{"pool": {"listener_id": "${L1}", "name": "p1", "protocol": "HTTP", "lb_algorithm": "SOURCE_IP", "session_persistence": {"type": "SOURCE_IP"}}}`},
		{name: "create a second default pool", request: "POST load-balancer/lbaas/pools", body: `{"pool": {"listener_id": "${L1}", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}}`},
		{name: "create a member", request: "POST load-balancer/lbaas/pools/${P1}/members", settles: "LB", keep: "M1=member.id", body: `{"member": {"name": "m", "address": "10.0.0.77", "protocol_port": 1, "weight": 5, "backup": true, "monitor_port": 99}}`},
		{name: "create a member again", request: "POST load-balancer/lbaas/pools/${P1}/members", body: `{"member": {"address": "10.0.0.77", "protocol_port": 1}}`},
		{name: "member", request: "GET load-balancer/lbaas/pools/${P1}/members/${M1}"},
		{name: "update a member", request: "PUT load-balancer/lbaas/pools/${P1}/members/${M1}", settles: "LB", body: `{"member": {"weight": 7}}`},
		{name: "batch of members", request: "PUT load-balancer/lbaas/pools/${P1}/members", settles: "LB", body: `{"members": [{"address": "10.0.0.77", "protocol_port": 1}, {"address": "10.0.0.78", "protocol_port": 1}]}`},
		{name: "members after the batch", request: "GET load-balancer/lbaas/pools/${P1}/members"},
		{name: "batch of the same members", request: "PUT load-balancer/lbaas/pools/${P1}/members", settles: "LB", body: `{"members": [{"address": "10.0.0.77", "protocol_port": 1}, {"address": "10.0.0.78", "protocol_port": 1}]}`},
		// A batch with a member twice is not sent to real services: it leaves the load balancer PENDING_UPDATE for good.
		{name: "batch with an unknown subnet", request: "PUT load-balancer/lbaas/pools/${P1}/members", settles: "LB", body: `{"members": [{"address": "10.0.0.77", "protocol_port": 1, "subnet_id": "00000000-0000-4000-8000-000000000000"}]}`},
		{name: "batch that only adds", request: "PUT load-balancer/lbaas/pools/${P1}/members?additive_only=true", settles: "LB", body: `{"members": [{"address": "10.0.0.79", "protocol_port": 1}]}`},
		{name: "create a monitor", request: "POST load-balancer/lbaas/healthmonitors", settles: "LB", keep: "HM1=healthmonitor.id", body: `{"healthmonitor": {"pool_id": "${P1}", "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 1}}`},
		{name: "create a second monitor", request: "POST load-balancer/lbaas/healthmonitors", body: `{"healthmonitor": {"pool_id": "${P1}", "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1}}`},
		{name: "update a monitor", request: "PUT load-balancer/lbaas/healthmonitors/${HM1}", settles: "LB", body: `{"healthmonitor": {"delay": 10, "timeout": 20}}`},
		{name: "update a pool", request: "PUT load-balancer/lbaas/pools/${P1}", settles: "LB", body: `{"pool": {"lb_algorithm": "LEAST_CONNECTIONS", "session_persistence": null}}`},
		{name: "update a listener", request: "PUT load-balancer/lbaas/listeners/${L1}", settles: "LB", body: `{"listener": {"connection_limit": 10, "timeout_client_data": 1000, "allowed_cidrs": ["198.51.100.0/24"], "tags": ["x"]}}`},
		{name: "update a listener back", request: "PUT load-balancer/lbaas/listeners/${L1}", settles: "LB", body: `{"listener": {"connection_limit": null, "timeout_client_data": null, "allowed_cidrs": null}}`},
		{name: "listener after updates", request: "GET load-balancer/lbaas/listeners/${L1}"},
		{name: "status tree with two listeners", request: "GET load-balancer/lbaas/loadbalancers/${LB}/status"},
	}
}
