#!/usr/bin/env bash
# Takes a project through what a cloud controller manager does, with the openstack command line (python3-openstackclient and
# python3-octaviaclient of Debian). In the environment: $openstack is the command, $endpoint the URL of a simulator
# with at least one machine, and $config its cloud.conf.
set -euo pipefail

value() { sed -nE "s/^$1 = \"?([^\"]*)\"?$/\1/p" "$config"; }
export OS_AUTH_URL=$endpoint/identity/v3 OS_IDENTITY_API_VERSION=3 OS_REGION_NAME
OS_REGION_NAME=$(value region)
if [[ -n $(value application-credential-id) ]]; then
	export OS_AUTH_TYPE=v3applicationcredential OS_APPLICATION_CREDENTIAL_ID OS_APPLICATION_CREDENTIAL_SECRET
	OS_APPLICATION_CREDENTIAL_ID=$(value application-credential-id)
	OS_APPLICATION_CREDENTIAL_SECRET=$(value application-credential-secret)
else
	export OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_USERNAME OS_PASSWORD OS_PROJECT_NAME
	OS_USERNAME=$(value username) OS_PASSWORD=$(value password) OS_PROJECT_NAME=$(value tenant-name)
fi
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
ok "*Neutron*" extension list --network
# Only the first one, and without a pipe that would be closed on who writes the others.
read -r server < <(run server list -n -f value -c ID)
ok "ACTIVE" server show "$server" -f value -c status
ok "*m1.small*" flavor list
ok "m1.small" flavor show m1.small -f value -c name
refused "No server with a name or ID" server show unknown
port=$(run port list --server "$server" -f value -c ID)
read -r address < <(run port list --server "$server" -f json | sed -nE 's/.*"ip_address": "([^"]*)".*/\1/p')
ok "$port" port list --fixed-ip "ip-address=$address" -f value -c ID
ok "ACTIVE" port show "$port" -f value -c status
ok "*private*" network list
public_name=$(run network list --external -f value -c Name)
ok "$public" network show "$public_name" -f value -c id
ok "*$subnet*" subnet list --network private
ok "$subnet" subnet show "$subnet" -f value -c id

ok "*" router add route "$router" --route "destination=10.244.0.0/24,gateway=$address"
ok "*10.244.0.0/24*" router show "$router" -f value -c routes
ok "*" router remove route "$router" --route "destination=10.244.0.0/24,gateway=$address"
ok "" router set "$router" --route "destination=10.244.1.0/24,gateway=$address"
ok "" router unset "$router" --route "destination=10.244.1.0/24,gateway=$address"
ok "" port set "$port" --allowed-address ip-address=10.244.0.0/24
ok "*10.244.0.0/24*" port show "$port" -f value -c allowed_address_pairs
ok "" port set "$port" --no-allowed-address
ok "" port set "$port" --tag node
ok "$port" port list --tags node -f value -c ID
ok "" port unset "$port" --tag node

group=$(of id security group create nodes)
ok "*nodes*" security group list
rule=$(of id security group rule create "$group" --protocol tcp --dst-port 30080 --remote-ip 10.0.0.0/8)
ok "*$rule*" security group rule list "$group"
ok "" security group rule delete "$rule"
ok "" port set "$port" --security-group "$group"
refused "in use" security group delete "$group"
ok "" port unset "$port" --security-group "$group"
ok "" security group delete "$group"

ok "*amphora*" loadbalancer provider list
lb=$(of id loadbalancer create --name web --vip-subnet-id "$subnet" --wait)
ok "$lb" loadbalancer list --name web -f value -c id
ok "" loadbalancer set --description changed --tag ours --wait "$lb"
listener=$(of id loadbalancer listener create --protocol TCP --protocol-port 80 --name http --wait "$lb")
refused "already using" loadbalancer listener create --protocol HTTP --protocol-port 80 "$lb"
ok "" loadbalancer listener set --connection-limit 10 --wait "$listener"
ok "$listener" loadbalancer listener list --loadbalancer "$lb" -f value -c id
ok "10" loadbalancer listener show "$listener" -f value -c connection_limit
pool=$(of id loadbalancer pool create --protocol TCP --lb-algorithm ROUND_ROBIN --listener "$listener" --wait)
ok "" loadbalancer pool set --lb-algorithm SOURCE_IP --wait "$pool"
ok "$pool" loadbalancer pool list --loadbalancer "$lb" -f value -c id
ok "SOURCE_IP" loadbalancer pool show "$pool" -f value -c lb_algorithm
member=$(of id loadbalancer member create --address "$address" --protocol-port 30080 --wait "$pool")
ok "" loadbalancer member set --weight 5 --wait "$pool" "$member"
ok "$address" loadbalancer member list "$pool" -f value -c address
ok "5" loadbalancer member show "$pool" "$member" -f value -c weight
monitor=$(of id loadbalancer healthmonitor create --delay 5 --timeout 3 --max-retries 1 --type TCP --wait "$pool")
ok "" loadbalancer healthmonitor set --delay 7 --wait "$monitor"
ok "7" loadbalancer healthmonitor show "$monitor" -f value -c delay
ok "*ONLINE*" loadbalancer status show "$lb"
ok "ACTIVE" loadbalancer show "$lb" -f value -c provisioning_status
vip=$(of vip_port_id loadbalancer show "$lb")
fip=$(of id floating ip create "$public" --port "$vip")
ok "ACTIVE" floating ip show "$fip" -f value -c status
ok "$fip" floating ip list --port "$vip" -f value -c ID
ok "" floating ip unset --port "$fip"
ok "" floating ip set --port "$vip" "$fip"
ok "" loadbalancer healthmonitor delete --wait "$monitor"
ok "" loadbalancer member delete --wait "$pool" "$member"
ok "" loadbalancer pool delete --wait "$pool"
ok "" loadbalancer listener delete --wait "$listener"
ok "" loadbalancer delete --cascade --wait "$lb"
ok "DOWN" floating ip show "$fip" -f value -c status
ok "" floating ip delete "$fip"
ok "" loadbalancer list -f value
((failures == 0)) || { echo "openstack: $failures steps failed" >&2; exit 1; }
echo "openstack: all steps passed"
