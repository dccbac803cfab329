package difftest

func refusalSteps() []step {
	lb := func(rest string) string {
		return `{"loadbalancer": {"name": "diff-bad", "vip_subnet_id": "${PRIVATE_SUBNET}"` + rest + `}}`
	}
	graph := func(protocol, poolProtocol, more string) string {
		return lb(`, "listeners": [{"protocol": "` + protocol + `", "protocol_port": 80, "default_pool": {"name": "p", "protocol": "` + poolProtocol + `", "lb_algorithm": "ROUND_ROBIN"` + more + `}}]`)
	}
	create := func(name, body string) step {
		return step{name: name, request: "POST load-balancer/lbaas/loadbalancers", body: body}
	}
	listener := func(name, rest string) step {
		return step{name: name, request: "POST load-balancer/lbaas/listeners", body: `{"listener": {"loadbalancer_id": "${LB}"` + rest + `}}`}
	}
	pool := func(name, rest string) step {
		return step{name: name, request: "POST load-balancer/lbaas/pools", body: `{"pool": {"loadbalancer_id": "${LB}"` + rest + `}}`}
	}
	monitor := func(name, rest string) step {
		return step{name: name, request: "POST load-balancer/lbaas/healthmonitors", body: `{"healthmonitor": {"pool_id": "${P0}"` + rest + `}}`}
	}
	member := func(name, rest string) step {
		return step{name: name, request: "POST load-balancer/lbaas/pools/${P0}/members", body: `{"member": {` + rest + `}}`}
	}
	return []step{
		create("nothing for the VIP", `{"loadbalancer": {"name": "diff-bad"}}`),
		create("unknown VIP subnet", `{"loadbalancer": {"vip_subnet_id": "00000000-0000-4000-8000-000000000000"}}`),
		create("VIP subnet that is no ID", `{"loadbalancer": {"vip_subnet_id": "x"}}`),
		create("unknown VIP network", `{"loadbalancer": {"vip_network_id": "00000000-0000-4000-8000-000000000000"}}`),
		create("unknown VIP port", `{"loadbalancer": {"vip_port_id": "00000000-0000-4000-8000-000000000000"}}`),
		create("VIP port in use", `{"loadbalancer": {"vip_port_id": "${PORT}"}}`),
		create("VIP address in use", lb(`, "vip_address": "${ADDRESS}"`)),
		create("VIP address out of the subnet", lb(`, "vip_address": "192.0.2.1"`)),
		create("VIP address that is none", lb(`, "vip_address": "x"`)),
		create("unknown provider", lb(`, "provider": "nobody"`)),
		create("unknown flavor", lb(`, "flavor_id": "00000000-0000-4000-8000-000000000000"`)),
		create("unknown zone", lb(`, "availability_zone": "nowhere"`)),
		create("unknown attribute", lb(`, "colour": "red"`)),
		create("other project", lb(`, "project_id": "00000000000000000000000000000000"`)),
		create("no JSON", `{`),
		create("no load balancer", `{}`),
		create("bad algorithm", lb(`, "pools": [{"name": "p", "protocol": "TCP", "lb_algorithm": "RANDOM"}]`)),
		create("pool without a name", lb(`, "listeners": [{"protocol": "TCP", "protocol_port": 80, "default_pool": {"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}]`)),
		create("pool without an algorithm", lb(`, "pools": [{"name": "p", "protocol": "TCP"}]`)),
		create("pool that is only named", lb(`, "listeners": [{"protocol": "TCP", "protocol_port": 80, "default_pool": {"name": "p"}}]`)),
		create("pools of one name", lb(`, "pools": [{"name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}, {"name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}]`)),
		create("listener and pool that do not fit", graph("TCP", "UDP", "")),
		create("UDP listener, HTTP pool, UDP monitor", graph("UDP", "HTTP", `, "healthmonitor": {"type": "UDP-CONNECT", "delay": 5, "timeout": 3, "max_retries": 1}`)),
		create("TCP pool, UDP monitor", graph("TCP", "TCP", `, "healthmonitor": {"type": "UDP-CONNECT", "delay": 5, "timeout": 3, "max_retries": 1}`)),
		create("UDP pool, PING monitor", graph("UDP", "UDP", `, "healthmonitor": {"type": "PING", "delay": 5, "timeout": 3, "max_retries": 1}`)),
		create("member twice", graph("TCP", "TCP", `, "members": [{"address": "10.0.0.9", "protocol_port": 1}, {"address": "10.0.0.9", "protocol_port": 1}]`)),
		create("member without an address", graph("TCP", "TCP", `, "members": [{"protocol_port": 1}]`)),
		create("two listeners on a port", lb(`, "listeners": [{"protocol": "TCP", "protocol_port": 80}, {"protocol": "HTTP", "protocol_port": 80}]`)),
		create("sources of the other family", lb(`, "listeners": [{"protocol": "TCP", "protocol_port": 80, "allowed_cidrs": ["2001:db8::/32"]}]`)),
		create("sources with bits of hosts", lb(`, "listeners": [{"protocol": "TCP", "protocol_port": 80, "allowed_cidrs": ["x"]}]`)),
		{name: "listener of no load balancer", request: "POST load-balancer/lbaas/listeners", body: `{"listener": {"loadbalancer_id": "00000000-0000-4000-8000-000000000000", "protocol": "TCP", "protocol_port": 1}}`},
		listener("listener on a taken port", `, "protocol": "TCP", "protocol_port": 80`),
		listener("HTTPS listener on TCP's port", `, "protocol": "HTTPS", "protocol_port": 80`),
		listener("listener of no protocol", `, "protocol_port": 82`),
		listener("listener of a bad protocol", `, "protocol": "SPDY", "protocol_port": 82`),
		listener("listener without a port", `, "protocol": "TCP"`),
		listener("listener on a bad port", `, "protocol": "TCP", "protocol_port": 70000`),
		listener("listener with a bad limit", `, "protocol": "TCP", "protocol_port": 82, "connection_limit": -2`),
		listener("listener with a bad timeout", `, "protocol": "TCP", "protocol_port": 82, "timeout_client_data": -1`),
		listener("TLS without a certificate", `, "protocol": "TERMINATED_HTTPS", "protocol_port": 443`),
		listener("TLS with an unknown certificate", `, "protocol": "TERMINATED_HTTPS", "protocol_port": 443, "default_tls_container_ref": "http://127.0.0.1:9311/v1/containers/00000000-0000-4000-8000-000000000000"`),
		listener("certificate over TCP", `, "protocol": "TCP", "protocol_port": 82, "default_tls_container_ref": "http://127.0.0.1:9311/v1/containers/x"`),
		listener("certificate over UDP", `, "protocol": "UDP", "protocol_port": 82, "default_tls_container_ref": "http://127.0.0.1:9311/v1/containers/x"`),
		listener("headers over TCP", `, "protocol": "TCP", "protocol_port": 82, "insert_headers": {"X-Forwarded-For": "true"}`),
		listener("headers over UDP", `, "protocol": "UDP", "protocol_port": 82, "insert_headers": {"X-Forwarded-For": "true"}`),
		listener("unknown headers", `, "protocol": "HTTP", "protocol_port": 82, "insert_headers": {"X-Colour": "true"}`),
		listener("TLS headers over HTTP", `, "protocol": "HTTP", "protocol_port": 82, "insert_headers": {"X-SSL-Client-CN": "true"}`),
		listener("default pool that does not fit", `, "protocol": "UDP", "protocol_port": 82, "default_pool_id": "${P0}"`),
		listener("default pool that does not exist", `, "protocol": "UDP", "protocol_port": 82, "default_pool_id": "00000000-0000-4000-8000-000000000000"`),
		{name: "change a listener's protocol", request: "PUT load-balancer/lbaas/listeners/${L0}", body: `{"listener": {"protocol": "HTTP"}}`},
		{name: "listener that does not exist", request: "DELETE load-balancer/lbaas/listeners/00000000-0000-4000-8000-000000000000"},
		{name: "pool of an unknown load balancer", request: "POST load-balancer/lbaas/pools", body: `{"pool": {"loadbalancer_id": "00000000-0000-4000-8000-000000000000", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}`},
		{name: "pool of no load balancer", request: "POST load-balancer/lbaas/pools", body: `{"pool": {"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}`},
		pool("pool of an algorithm that the provider lacks", `, "protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT"`),
		pool("pool of no algorithm", `, "protocol": "TCP"`),
		pool("pool of a bad protocol", `, "protocol": "SPDY", "lb_algorithm": "ROUND_ROBIN"`),
		pool("cookie over UDP", `, "protocol": "UDP", "lb_algorithm": "ROUND_ROBIN", "session_persistence": {"type": "HTTP_COOKIE"}`),
		pool("cookie without a name", `, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "session_persistence": {"type": "APP_COOKIE"}`),
		pool("name of a cookie that is none", `, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "session_persistence": {"type": "SOURCE_IP", "cookie_name": "x"}`),
		pool("affinity's timeout over TCP", `, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "session_persistence": {"type": "SOURCE_IP", "persistence_timeout": 5}`),
		monitor("monitor without a delay", `, "type": "TCP", "timeout": 3, "max_retries": 1`),
		monitor("monitor with many retries", `, "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 11`),
		monitor("monitor of a bad type", `, "type": "SMTP", "delay": 5, "timeout": 3, "max_retries": 1`),
		monitor("monitor with a bad path", `, "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 1, "url_path": "x"`),
		member("member that is no address", `"address": "x", "protocol_port": 1`),
		member("member without a port", `"address": "10.0.0.9"`),
		member("member with a great weight", `"address": "10.0.0.9", "protocol_port": 1, "weight": 300`),
		member("member on a bad port", `"address": "10.0.0.9", "protocol_port": 0`),
		member("member of an unknown subnet", `"address": "10.0.0.9", "protocol_port": 1, "subnet_id": "00000000-0000-4000-8000-000000000000"`),
		member("member with an unknown attribute", `"address": "10.0.0.9", "protocol_port": 1, "colour": "red"`),
		{name: "member that does not exist", request: "DELETE load-balancer/lbaas/pools/${P0}/members/00000000-0000-4000-8000-000000000000"},
		{name: "ports left by refused creates", request: "GET network/ports?device_owner=Octavia&fields=name"},
	}
}

func endSteps() []step {
	return []step{
		{name: "delete a member", request: "DELETE load-balancer/lbaas/pools/${P1}/members/${M1}", settles: "LB"},
		{name: "delete a monitor", request: "DELETE load-balancer/lbaas/healthmonitors/${HM1}", settles: "LB"},
		{name: "delete a pool", request: "DELETE load-balancer/lbaas/pools/${P1}", settles: "LB"},
		{name: "listener without its pool", request: "GET load-balancer/lbaas/listeners/${L1}"},
		{name: "delete a listener", request: "DELETE load-balancer/lbaas/listeners/${L1}", settles: "LB"},
		{name: "two changes at once, the first", request: "PUT load-balancer/lbaas/loadbalancers/${LB}", body: `{"loadbalancer": {"name": "diff-lb-2"}}`, settles: "LB"},
		{name: "delete with all", request: "DELETE load-balancer/lbaas/loadbalancers/${LB}?cascade=true"},
		{name: "change what is being deleted", request: "PUT load-balancer/lbaas/loadbalancers/${LB}", body: `{"loadbalancer": {"name": "x"}}`, settles: "LB"},
		{name: "delete what is being deleted", request: "DELETE load-balancer/lbaas/listeners/${L0}", settles: "LB"},
	}
}
