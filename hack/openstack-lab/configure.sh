#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2154 # variables are shared with lab.sh
# Sourced by lab.sh: ports, and the configuration of every service below $etc. It is rewritten at each up.

# ports sets where the services listen, on the loopback only.
ports() { # offset
	keystone_port=$((5000 + $1)) nova_port=$((8774 + $1)) placement_port=$((8778 + $1)) glance_port=$((9292 + $1))
	barbican_port=$((9311 + $1)) neutron_port=$((9696 + $1)) octavia_port=$((9876 + $1))
	amqp_port=$((5672 + $1)) erlang_port=$((25672 + $1)) epmd_port=$((4369 + $1))
	keystone_url=http://127.0.0.1:$keystone_port/v3
}

configure() {
	mkdir -p "$etc" "$lab/home/.barbican" "$state"/{keystone/tokens,keystone/credentials,images,nova,neutron,octavia}
	chmod 700 "$state/keystone"/*
	configure_keystone >"$etc/keystone.conf"
	configure_glance >"$etc/glance.conf"
	configure_placement >"$etc/placement.conf"
	configure_nova >"$etc/nova.conf"
	configure_nova_databases >"$etc/nova-databases.conf"
	configure_neutron >"$etc/neutron.conf"
	certificates
	configure_octavia >"$etc/octavia.conf"
	# Barbican's API looks for its configuration in the home folder, and nothing can tell it another place.
	configure_barbican >"$lab/home/.barbican/barbican.conf"
	cat >"$etc/barbican_wsgi.py" <<-END
		from paste import deploy
		application = deploy.loadapp('config:$lab/debian/usr/share/barbican-common/barbican-api-paste.ini')
	END
}

database_url() { echo "mysql+pymysql://root@localhost/$1?unix_socket=$socket&charset=utf8"; }

# database is the section of a service that keeps its data in the database of its name.
database() { # name
	cat <<-END
		[database]
		connection = $(database_url "$1")
		max_pool_size = 10
		max_overflow = 20
	END
}

# login is a section by which one service calls another: as the user of its name in the project service.
login() { # section user
	cat <<-END
		[$1]
		auth_type = password
		auth_url = $keystone_url
		username = $2
		password = $password
		project_name = service
		user_domain_name = Default
		project_domain_name = Default
		region_name = RegionOne
	END
}

# guarded is how a service checks the tokens of its callers.
guarded() { # user
	login keystone_authtoken "$1"
	cat <<-END
		www_authenticate_uri = $keystone_url
		service_token_roles_required = true
	END
}

# On a busy machine, an answer takes longer than the usual minute: Nova then fails, and so does Octavia's load balancer.
bus() {
	echo "transport_url = rabbit://guest:guest@127.0.0.1:$amqp_port/"
	echo "rpc_response_timeout = 600"
}

configure_keystone() {
	database keystone
	cat <<-END
		[token]
		provider = fernet
		[fernet_tokens]
		key_repository = $state/keystone/tokens
		[credential]
		key_repository = $state/keystone/credentials
		[cache]
		enabled = true
		backend = dogpile.cache.memory
	END
}

configure_glance() {
	cat <<-END
		[DEFAULT]
		bind_host = 127.0.0.1
		bind_port = $glance_port
		workers = 0
		[paste_deploy]
		flavor = keystone
		config_file = $lab/debian/usr/share/glance-common/glance-api-paste.ini
		[glance_store]
		stores = file
		default_store = file
		filesystem_store_datadir = $state/images
	END
	database glance
	guarded glance
}

configure_placement() {
	database placement | sed 's/^\[database\]/[placement_database]/'
	guarded placement
}

# configure_nova is what all parts of Nova have; the hypervisor, which may have no database, has no more.
configure_nova() {
	cat <<-END
		[DEFAULT]
		host = hypervisor
		my_ip = 127.0.0.1
		state_path = $state/nova
		compute_driver = fake.FakeDriver
		enabled_apis = osapi_compute
		osapi_compute_listen = 127.0.0.1
		osapi_compute_listen_port = $nova_port
		osapi_compute_workers = 1
		$(bus)
		[oslo_concurrency]
		lock_path = $state/nova/locks
		[vnc]
		enabled = false
		[wsgi]
		api_paste_config = $lab/debian/usr/share/nova-common/api-paste.ini
		[conductor]
		workers = 1
		[scheduler]
		workers = 1
		[quota]
		instances = -1
		cores = -1
		ram = -1
		server_groups = -1
	END
	login placement placement
	login neutron neutron
	login service_user nova
	echo "send_service_user_token = true"
}

configure_nova_databases() {
	database nova
	database nova_api | sed 's/^\[database\]/[api_database]/'
	guarded nova
}

# No agent listens to Neutron, so that it needs no bus: unattended.py answers in their place.
configure_neutron() {
	cat <<-END
		[DEFAULT]
		bind_host = 127.0.0.1
		bind_port = $neutron_port
		state_path = $state/neutron
		api_paste_config = $lab/debian/usr/share/neutron-common/api-paste.ini
		transport_url = fake://
		core_plugin = ml2
		service_plugins = unattended.Routers
		api_workers = 0
		rpc_workers = 1
		rpc_state_report_workers = 0
		dhcp_agent_notification = false
		notify_nova_on_port_status_changes = true
		notify_nova_on_port_data_changes = true
		send_events_interval = 1
		max_routes = 200
		[oslo_concurrency]
		lock_path = $state/neutron/locks
		[ml2]
		type_drivers = flat,vxlan
		tenant_network_types = vxlan
		mechanism_drivers = unattended
		extension_drivers = port_security
		[ml2_type_flat]
		flat_networks = *
		[ml2_type_vxlan]
		vni_ranges = 1:10000
		[quotas]
	END
	printf 'quota_%s = -1\n' network subnet port router floatingip security_group security_group_rule
	database neutron
	guarded neutron
	login nova nova
	login placement placement
}

# certificates are those by which Octavia and its amphorae, which never run here, would know each other.
certificates() {
	local at=$state/octavia
	if [[ -s $at/client.pem ]]; then return; fi
	openssl req -x509 -newkey rsa:2048 -days 3650 -subj /CN=authority -passout "pass:$password" \
		-keyout "$at/authority.key" -out "$at/authority.pem" 2>/dev/null
	openssl req -x509 -newkey rsa:2048 -days 3650 -subj /CN=octavia -nodes \
		-keyout "$at/client.key" -out "$at/client.crt" 2>/dev/null
	cat "$at/client.crt" "$at/client.key" >"$at/client.pem"
}

configure_octavia() {
	cat <<-END
		[DEFAULT]
		$(bus)
		[api_settings]
		api_base_uri = http://127.0.0.1:$octavia_port
		auth_strategy = keystone
		enabled_provider_drivers = amphora:Amphora
		default_provider_driver = amphora
		[certificates]
		cert_manager = barbican_cert_manager
		cert_generator = local_cert_generator
		ca_certificate = $state/octavia/authority.pem
		ca_private_key = $state/octavia/authority.key
		ca_private_key_passphrase = $password
		server_certs_key_passphrase = $(head -c 32 <<<"$password$password")
		endpoint_type = publicURL
		region_name = RegionOne
		[haproxy_amphora]
		server_ca = $state/octavia/authority.pem
		client_cert = $state/octavia/client.pem
		[health_manager]
		heartbeat_key = $password
		controller_ip_port_list = 127.0.0.1:$((octavia_port + 1))
		[controller_worker]
		workers = 1
		client_ca = $state/octavia/authority.pem
		amphora_driver = amphora_noop_driver
		compute_driver = compute_nova_driver
		network_driver = allowed_address_pairs_driver
		image_driver = image_glance_driver
		loadbalancer_topology = SINGLE
		amp_image_tag = amphora
		amp_active_retries = 3600
		amp_active_wait_sec = 1
		[networking]
		retry_interval = 1
		[oslo_messaging]
		topic = octavia
		[oslo_concurrency]
		lock_path = $state/octavia/locks
	END
	printf '[%s]\nregion_name = RegionOne\n' nova neutron glance
	database octavia
	guarded octavia
	login service_auth octavia
}

configure_barbican() {
	cat <<-END
		[DEFAULT]
		host_href = http://127.0.0.1:$barbican_port
		sql_connection = $(database_url barbican)
		db_auto_create = false
		[queue]
		enable = false
		[secretstore]
		enabled_secretstore_plugins = store_crypto
		[crypto]
		enabled_crypto_plugins = simple_crypto
	END
	guarded barbican
}
