#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2154 # variables are shared with lab.sh
# Sourced by lab.sh: the services, in the order in which they are started.

# Every process, in the order of its start: the stores of data, and the services that use them.
stores=(epmd mariadb rabbitmq)
services=(keystone placement neutron nova-conductor nova-scheduler nova-api glance barbican nova-compute octavia-api octavia-worker)

start_all() {
	start_stores
	migrate
	start_apis
	provision cloud
	start_octavia
	await nova-compute run_provision hypervisor
	run_once nova-hosts nova-manage --config-file "$etc/nova.conf" --config-file "$etc/nova-databases.conf" cell_v2 discover_hosts
	await octavia-api http_responds "$octavia_port"
	await barbican http_responds "$barbican_port"
}

sql() { mariadb --no-defaults --user=root --socket="$socket"; }

# start_stores starts the database and the message bus. A crash may lose their data, which makes them fast.
start_stores() {
	local data=$state/mariadb rabbit=$state/rabbitmq name
	if [[ ! -e $finished/mariadb-files ]]; then rm -rf "$data"; fi
	run_once mariadb-files mariadb-install-db --no-defaults --user=root --datadir="$data" \
		--auth-root-authentication-method=normal --skip-test-db
	start mariadb - mariadbd --no-defaults --user=root --datadir="$data" --socket="$socket" --pid-file="$state/mariadb.pid" \
		--skip-networking --skip-log-bin --skip-name-resolve --performance-schema=OFF --max-connections=500 \
		--innodb-buffer-pool-size=256M --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0 --innodb-flush-method=nosync

	mkdir -p "$rabbit"
	printf '[].\n' >"$rabbit/plugins"
	start epmd "$epmd_port" epmd -address 127.0.0.1 -port "$epmd_port"
	start rabbitmq "$amqp_port" env HOME="$rabbit" ERL_EPMD_ADDRESS=127.0.0.1 ERL_EPMD_PORT="$epmd_port" \
		RABBITMQ_NODENAME=ccm-openstack-lab@localhost RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT="$amqp_port" \
		RABBITMQ_DIST_PORT="$erlang_port" RABBITMQ_MNESIA_BASE="$rabbit" RABBITMQ_LOG_BASE="$logs" RABBITMQ_LOGS=- \
		RABBITMQ_PID_FILE="$rabbit/pid" RABBITMQ_CONFIG_FILE="$rabbit/none" RABBITMQ_CONF_ENV_FILE="$rabbit/none" \
		RABBITMQ_ENABLED_PLUGINS_FILE="$rabbit/plugins" \
		RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none" \
		/usr/lib/rabbitmq/bin/rabbitmq-server

	await mariadb sql </dev/null
	for name in keystone glance placement nova nova_api nova_cell0 neutron octavia barbican; do
		echo "CREATE DATABASE IF NOT EXISTS $name CHARACTER SET utf8mb3;"
	done | sql
	await rabbitmq amqp_responds
	say "the database and the message bus run"
}

# amqp_responds sends the header of AMQP 0-9-1 to the server, and waits for the first byte of the response.
amqp_responds() {
	# The inner shell is to expand nothing of this one's but the port.
	# shellcheck disable=SC2016
	timeout 5 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0" && printf "AMQP\0\0\11\1" >&3 && (($(head -c 1 <&3 | wc -c) == 1))' "$amqp_port"
}

# migrate creates the tables of all services, two services at a time.
migrate() {
	run_once database-keystone migrate_keystone
	start_keystone
	run_once database-neutron neutron-db-manage --config-file "$etc/neutron.conf" upgrade heads &
	local neutron=$!
	run_once database-nova migrate_nova
	run_once database-glance glance-manage --config-file "$etc/glance.conf" db_sync
	run_once database-placement env OS_PLACEMENT_CONFIG_DIR="$etc" placement-manage --config-file "$etc/placement.conf" db sync
	run_once database-octavia octavia-db-manage --config-file "$etc/octavia.conf" upgrade head
	run_once database-barbican barbican-manage db upgrade
	wait "$neutron"
	provision identity
}

migrate_keystone() {
	local keystone=(keystone-manage --config-file "$etc/keystone.conf") keys
	"${keystone[@]}" db_sync
	for keys in fernet_setup credential_setup; do
		"${keystone[@]}" "$keys" --keystone-user root --keystone-group root
	done
	"${keystone[@]}" bootstrap --bootstrap-password "$password" --bootstrap-region-id RegionOne \
		--bootstrap-admin-url "$keystone_url" --bootstrap-internal-url "$keystone_url" --bootstrap-public-url "$keystone_url"
}

migrate_nova() {
	local nova=(nova-manage --config-file "$etc/nova.conf" --config-file "$etc/nova-databases.conf")
	"${nova[@]}" api_db sync
	"${nova[@]}" cell_v2 map_cell0 --database_connection "$(database_url nova_cell0)"
	"${nova[@]}" cell_v2 list_cells | grep -q ' one ' || "${nova[@]}" cell_v2 create_cell --name one
	"${nova[@]}" db sync
}

# start_uwsgi serves a program of a service by uwsgi, which starts its threads in one process.
start_uwsgi() { # name port program [option...]
	local name=$1 port=$2 program=$3
	shift 3
	start "$name" "$port" uwsgi --plugins python3 --http-socket "127.0.0.1:$port" --wsgi-file "$program" --processes 1 \
		--threads 8 --enable-threads --lazy-apps --need-app --die-on-term --buffer-size 65535 --listen 100 \
		--add-header "Connection: close" "$@"
}

start_keystone() {
	OS_KEYSTONE_CONFIG_FILES=$etc/keystone.conf start_uwsgi keystone "$keystone_port" /usr/bin/keystone-wsgi-public
	await keystone curl --silent --fail --noproxy '*' --max-time 5 "$keystone_url"
	say "Keystone runs"
}

start_apis() {
	local nova=(--config-file "$etc/nova.conf" --config-file "$etc/nova-databases.conf")
	OS_PLACEMENT_CONFIG_DIR=$etc start_uwsgi placement "$placement_port" /usr/bin/placement-api
	start neutron "$neutron_port" neutron-server --config-file "$etc/neutron.conf"
	start nova-conductor - nova-conductor "${nova[@]}"
	start nova-scheduler - nova-scheduler "${nova[@]}"
	start nova-api "$nova_port" nova-api "${nova[@]}"
	start glance "$glance_port" glance-api --config-file "$etc/glance.conf"
	start_uwsgi barbican "$barbican_port" "$etc/barbican_wsgi.py"
	await placement http_responds "$placement_port"
	start nova-compute - nova-compute --config-file "$etc/nova.conf"
	await neutron http_responds "$neutron_port"
	await glance http_responds "$glance_port"
	await nova-api http_responds "$nova_port"
	say "Placement, Glance, Neutron and Nova run"
}

# start_octavia runs after provision, which writes the settings of the amphorae.
start_octavia() {
	local files="--config-file $etc/octavia.conf --config-file $etc/amphorae.conf"
	start_uwsgi octavia-api "$octavia_port" /usr/bin/octavia-wsgi --pyargv "$files"
	# Split at spaces on purpose, as uwsgi does.
	# shellcheck disable=SC2086
	start octavia-worker - /usr/bin/python3 "$here/python/octavia_worker.py" $files
}

# provision creates the objects that are missing in the cloud.
provision() { # identity|cloud
	run_provision "$1" >>"$logs/provision.log" 2>&1 || fail provision "failed"
	say "provisioned: $1"
}

run_provision() { # identity|cloud|hypervisor
	LAB=$lab PASSWORD=$password KEYSTONE=$keystone_url \
		IMAGE=http://127.0.0.1:$glance_port PLACEMENT=http://127.0.0.1:$placement_port COMPUTE=http://127.0.0.1:$nova_port/v2.1 \
		NETWORK=http://127.0.0.1:$neutron_port LOAD_BALANCER=http://127.0.0.1:$octavia_port KEY_MANAGER=http://127.0.0.1:$barbican_port \
		/usr/bin/python3 "$here/python/provision.py" "$1"
}
