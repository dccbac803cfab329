#!/usr/bin/env bash
# Takes a project through what a cloud controller manager does, with the openstack command line (python3-openstackclient and
# python3-octaviaclient of Debian). In the environment: $openstack is the command, $endpoint the URL of a simulator
# with at least one machine, and $config its cloud.conf.
set -euo pipefail

value() { sed -nE "s/^$1 = \"?([^\"]*)\"?$/\1/p" "$config"; }
export OS_AUTH_URL=$endpoint/identity/v3 OS_IDENTITY_API_VERSION=3 OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default
OS_USERNAME=$(value username) OS_PASSWORD=$(value password) OS_PROJECT_NAME=$(value tenant-name) OS_REGION_NAME=$(value region)
export OS_USERNAME OS_PASSWORD OS_PROJECT_NAME OS_REGION_NAME
subnet=$(value subnet-id) public=$(value floating-network-id) router=$(value router-id)

failures=0
failed() { echo "openstack: $*" >&2; failures=$((failures + 1)); }
# run prints what the command line says; ok compares it with what is expected, a pattern; refused wants an error with a text.
run() { "$openstack" "$@"; }
ok() { # pattern command...
	local want=$1 got
	shift
	# The pattern is meant to be one.
	# shellcheck disable=SC2053
	got=$(run "$@" 2>&1) && [[ $got == $want ]] || failed "$*: $got, want $want"
}
refused() { # text command...
	local want=$1 got
	shift
	if got=$(run "$@" 2>&1); then failed "$*: succeeded"; elif [[ $got != *"$want"* ]]; then failed "$*: $got, want $want"; fi
}
of() { local field=$1; shift; run "$@" -f value -c "$field"; }

ok "gAAAAA*" token issue -f value -c id
ok "*octavia*" catalog list
server=$(run server list -n -f value -c ID | head -1)
ok "ACTIVE" server show "$server" -f value -c status
port=$(run port list --server "$server" -f value -c ID)
ok "ACTIVE" port show "$port" -f value -c status
address=$(run port list --server "$server" -f json | sed -nE 's/.*"ip_address": "([^"]*)".*/\1/p' | head -1)
ok "*private*" network list
ok "*m1.small*" flavor list
refused "No Server found" server show nobody

ok "*" router add route "$router" --route "destination=10.244.0.0/24,gateway=$address"
ok "*10.244.0.0/24*" router show "$router" -f value -c routes
ok "*" router remove route "$router" --route "destination=10.244.0.0/24,gateway=$address"
ok "" port set "$port" --allowed-address ip-address=10.244.0.0/24
ok "*10.244.0.0/24*" port show "$port" -f value -c allowed_address_pairs
ok "" port unset "$port" --allowed-address ip-address=10.244.0.0/24

group=$(of id security group create nodes)
ok "*" security group rule create "$group" --protocol tcp --dst-port 30080 --remote-ip 10.0.0.0/8
ok "" port set "$port" --security-group "$group"
refused "in use" security group delete "$group"
ok "" port unset "$port" --security-group "$group"
ok "" security group delete "$group"

lb=$(of id loadbalancer create --name web --vip-subnet-id "$subnet" --wait)
listener=$(of id loadbalancer listener create --protocol TCP --protocol-port 80 --name http --wait "$lb")
refused "already using" loadbalancer listener create --protocol HTTP --protocol-port 80 "$lb"
pool=$(of id loadbalancer pool create --protocol TCP --lb-algorithm ROUND_ROBIN --listener "$listener" --wait)
ok "*" loadbalancer member create --address "$address" --protocol-port 30080 --wait "$pool"
ok "$address" loadbalancer member list "$pool" -f value -c address
ok "*" loadbalancer healthmonitor create --delay 5 --timeout 3 --max-retries 1 --type TCP --wait "$pool"
ok "*ONLINE*" loadbalancer status show "$lb"
ok "ACTIVE" loadbalancer show "$lb" -f value -c provisioning_status
fip=$(of id floating ip create "$public" --port "$(of vip_port_id loadbalancer show "$lb")")
ok "ACTIVE" floating ip show "$fip" -f value -c status
ok "" loadbalancer delete --cascade --wait "$lb"
ok "DOWN" floating ip show "$fip" -f value -c status
ok "" floating ip delete "$fip"
ok "" loadbalancer list -f value
((failures == 0)) || { echo "openstack: $failures steps failed" >&2; exit 1; }
echo "openstack: all steps passed"
