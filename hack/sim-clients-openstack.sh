#!/usr/bin/env bash
# Drives simulated OpenStack with the openstack command line of Debian (python3-openstackclient, python3-octaviaclient),
# with the operations of a cloud controller manager. Without it, prints a message and succeeds.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$root/hack/lib-clients.sh"
clients=$root/providers/openstack/sim/clients

{ read -r openstack; } < <(find_client openstack 'openstackclient, octaviaclient') || true
if [[ -z $openstack ]]; then
	echo "sim-clients: openstack skipped, because its command line is not installed (Debian: apt-get install python3-openstackclient python3-octaviaclient)"
	exit 0
fi

build_simulators
start_simulator "$work" openstack --instances=3
failed=0
# The services are on the loopback, which a proxy does not reach.
no_proxy=127.0.0.1 NO_PROXY=127.0.0.1 openstack=$openstack endpoint=$endpoint config=$work/cloud.conf "$clients/openstack.sh" || failed=1
stop_simulator || failed=1
"$clients/openstack_operations.sh" "$work/log" || failed=1
exit $failed
