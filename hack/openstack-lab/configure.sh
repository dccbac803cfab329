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
	# Barbican's API reads its configuration from the home folder only.
	configure_barbican >"$lab/home/.barbican/barbican.conf"
	cat >"$etc/barbican_wsgi.py" <<-END
		from paste import deploy
		application = deploy.loadapp('config:$lab/debian/usr/share/barbican-common/barbican-api-paste.ini')
	END
}

database_url() { echo "mysql+pymysql://root@localhost/$1?unix_socket=$socket&charset=utf8"; }

# database_section is the section of a service that keeps its data in the database of its name.
database_section() { # name
	cat <<-END
		[database]
		connection = $(database_url "$1")
		max_pool_size = 10
		max_overflow = 20
	END
}

# login_section is the section by which one service calls another: as the user of its name in the project service.
login_section() { # section user
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

# token_section is the section by which a service checks the tokens of its callers.
token_section() { # user
	login_section keystone_authtoken "$1"
	cat <<-END
		www_authenticate_uri = $keystone_url
		service_token_roles_required = true
	END
}

# On a busy machine, a response takes longer than the default of a minute: Nova then fails, and so does Octavia's load balancer.
bus_settings() {
	echo "transport_url = rabbit://guest:guest@127.0.0.1:$amqp_port/"
	echo "rpc_response_timeout = 600"
}

configure_keystone() {
	database_section keystone
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
	database_section glance
	token_section glance
}

configure_placement() {
	database_section placement | sed 's/^\[database\]/[placement_database]/'
	token_section placement
}

# configure_nova has the settings of all parts of Nova. The hypervisor has only these, because it must have no database.
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
		$(bus_settings)
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
	login_section placement placement
	login_section neutron neutron
	login_section service_user nova
	echo "send_service_user_token = true"
}

configure_nova_databases() {
	database_section nova
	database_section nova_api | sed 's/^\[database\]/[api_database]/'
	token_section nova
}

# No agent listens to Neutron, so that it needs no bus: agentless.py reports in their place.
configure_neutron() {
	cat <<-END
		[DEFAULT]
		bind_host = 127.0.0.1
		bind_port = $neutron_port
		state_path = $state/neutron
		api_paste_config = $lab/debian/usr/share/neutron-common/api-paste.ini
		transport_url = fake://
		core_plugin = ml2
		service_plugins = agentless.Routers
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
		mechanism_drivers = agentless
		extension_drivers = port_security
		[ml2_type_flat]
		flat_networks = *
		[ml2_type_vxlan]
		vni_ranges = 1:10000
		[quotas]
	END
	printf 'quota_%s = -1\n' network subnet port router floatingip security_group security_group_rule
	database_section neutron
	token_section neutron
	login_section nova nova
	login_section placement placement
}

# certificates creates those by which Octavia and its amphorae, which never run here, authenticate each other.
certificates() {
	local folder=$state/octavia
	if [[ -s $folder/client.pem ]]; then return; fi
	openssl req -x509 -newkey rsa:2048 -days 3650 -subj /CN=authority -passout "pass:$password" \
		-keyout "$folder/authority.key" -out "$folder/authority.pem" 2>/dev/null
	openssl req -x509 -newkey rsa:2048 -days 3650 -subj /CN=octavia -nodes \
		-keyout "$folder/client.key" -out "$folder/client.crt" 2>/dev/null
	cat "$folder/client.crt" "$folder/client.key" >"$folder/client.pem"
}

configure_octavia() {
	cat <<-END
		[DEFAULT]
		$(bus_settings)
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
	database_section octavia
	token_section octavia
	login_section service_auth octavia
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
	token_section barbican
}
