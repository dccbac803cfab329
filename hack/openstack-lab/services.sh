#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2154 # variables are shared with lab.sh
# Sourced by lab.sh: the services, and in which order they are started.

# Every process, in the order of its start: what keeps the data of the others, and the others.
stores=(epmd mariadb rabbitmq)
services=(keystone placement neutron nova-conductor nova-scheduler nova-api glance barbican nova-compute octavia-api octavia-worker)

start_all() {
	start_stores
	migrate
	start_apis
	furnish cloud
	start_octavia
	await nova-compute furnisher hypervisor
	once nova-hosts nova-manage --config-file "$etc/nova.conf" --config-file "$etc/nova-databases.conf" cell_v2 discover_hosts
	await octavia-api answers "$octavia_port"
	await barbican answers "$barbican_port"
}

sql() { mariadb --no-defaults --user=root --socket="$socket"; }

# start_stores starts the database and the message bus. What they hold may be lost in a crash, which makes them fast.
start_stores() {
	local data=$state/mariadb rabbit=$state/rabbitmq name
	if [[ ! -e $finished/mariadb-files ]]; then rm -rf "$data"; fi
	once mariadb-files mariadb-install-db --no-defaults --user=root --datadir="$data" \
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
	await rabbitmq speaks_amqp
	say "the database and the message bus run"
}

# speaks_amqp greets a server in its protocol, version 0-9-1, and waits for a word in return.
speaks_amqp() {
	# The inner shell is to expand nothing of this one's but the port.
	# shellcheck disable=SC2016
	timeout 5 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0" && printf "AMQP\0\0\11\1" >&3 && (($(head -c 1 <&3 | wc -c) == 1))' "$amqp_port"
}

# migrate makes the tables of all services, two services at a time.
migrate() {
	once database-keystone migrate_keystone
	start_keystone
	once database-neutron neutron-db-manage --config-file "$etc/neutron.conf" upgrade heads &
	local neutron=$!
	once database-nova migrate_nova
	once database-glance glance-manage --config-file "$etc/glance.conf" db_sync
	once database-placement env OS_PLACEMENT_CONFIG_DIR="$etc" placement-manage --config-file "$etc/placement.conf" db sync
	once database-octavia octavia-db-manage --config-file "$etc/octavia.conf" upgrade head
	once database-barbican barbican-manage db upgrade
	wait "$neutron"
	furnish identity
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

# web serves a program of a service's by uwsgi, which starts its threads in one process.
web() { # name port program [option...]
	local name=$1 port=$2 program=$3
	shift 3
	start "$name" "$port" uwsgi --plugins python3 --http-socket "127.0.0.1:$port" --wsgi-file "$program" --processes 1 \
		--threads 8 --enable-threads --lazy-apps --need-app --die-on-term --buffer-size 65535 --listen 100 \
		--add-header "Connection: close" "$@"
}

start_keystone() {
	OS_KEYSTONE_CONFIG_FILES=$etc/keystone.conf web keystone "$keystone_port" /usr/bin/keystone-wsgi-public
	await keystone curl --silent --fail --noproxy '*' --max-time 5 "$keystone_url"
	say "Keystone runs"
}

start_apis() {
	local nova=(--config-file "$etc/nova.conf" --config-file "$etc/nova-databases.conf")
	OS_PLACEMENT_CONFIG_DIR=$etc web placement "$placement_port" /usr/bin/placement-api
	start neutron "$neutron_port" neutron-server --config-file "$etc/neutron.conf"
	start nova-conductor - nova-conductor "${nova[@]}"
	start nova-scheduler - nova-scheduler "${nova[@]}"
	start nova-api "$nova_port" nova-api "${nova[@]}"
	start glance "$glance_port" glance-api --config-file "$etc/glance.conf"
	web barbican "$barbican_port" "$etc/barbican_wsgi.py"
	await placement answers "$placement_port"
	start nova-compute - nova-compute --config-file "$etc/nova.conf"
	await neutron answers "$neutron_port"
	await glance answers "$glance_port"
	await nova-api answers "$nova_port"
	say "Placement, Glance, Neutron and Nova run"
}

# start_octavia follows furnish, which writes down where the amphorae live.
start_octavia() {
	local files="--config-file $etc/octavia.conf --config-file $etc/amphorae.conf"
	web octavia-api "$octavia_port" /usr/bin/octavia-wsgi --pyargv "$files"
	# Split at spaces on purpose, as uwsgi does.
	# shellcheck disable=SC2086
	start octavia-worker - /usr/bin/python3 "$here/python/octavia_worker.py" $files
}

# furnish makes what is missing in the cloud.
furnish() { # identity|cloud
	furnisher "$1" >>"$logs/furnish.log" 2>&1 || fails furnish "failed"
	say "furnished: $1"
}

furnisher() { # identity|cloud|hypervisor
	LAB=$lab PASSWORD=$password KEYSTONE=$keystone_url \
		IMAGE=http://127.0.0.1:$glance_port PLACEMENT=http://127.0.0.1:$placement_port COMPUTE=http://127.0.0.1:$nova_port/v2.1 \
		NETWORK=http://127.0.0.1:$neutron_port LOAD_BALANCER=http://127.0.0.1:$octavia_port KEY_MANAGER=http://127.0.0.1:$barbican_port \
		/usr/bin/python3 "$here/python/furnish.py" "$1"
}
