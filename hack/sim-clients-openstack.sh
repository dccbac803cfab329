#!/usr/bin/env bash
# Drives simulated OpenStack with the openstack command line of Debian (python3-openstackclient, python3-octaviaclient),
# through what a cloud controller manager does. Where it is not installed, says so and succeeds.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
clients=$root/providers/openstack/sim/clients

# Of several command lines, the one that knows load balancers.
openstack=''
while IFS= read -r candidate; do
	interpreter=$(sed -n '1s/^#! *//p' "$candidate")
	# Not quoted: it may have arguments.
	# shellcheck disable=SC2086
	if [[ $interpreter == *python* ]] && $interpreter -c 'import openstackclient, octaviaclient' 2>/dev/null; then
		openstack=$candidate
		break
	fi
done < <(type -ap openstack)
if [[ -z $openstack ]]; then
	echo "sim-clients: openstack skipped, because its command line is not installed (Debian: apt-get install python3-openstackclient python3-octaviaclient)"
	exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"; jobs -p | xargs -r kill 2>/dev/null || true' EXIT
go build -o "$work/ccm-lab" ./cmd/ccm-lab
"$work/ccm-lab" sim openstack --listen=127.0.0.1:0 --instances=3 --seed=1 >"$work/cloud.conf" 2>"$work/log" &
simulator=$!
until endpoint=$(grep -oE 'answers at http://[0-9.:]+' "$work/log" | sed 's/answers at //'); do
	kill -0 $simulator 2>/dev/null || { cat "$work/log" >&2; exit 1; }
	read -rt 0.1 <> <(:) || true
done
failed=0
# The services answer on the loopback, whatever proxy leads to the rest of the world.
no_proxy=127.0.0.1 NO_PROXY=127.0.0.1 openstack=$openstack endpoint=$endpoint config=$work/cloud.conf "$clients/openstack.sh" || failed=1
kill -INT $simulator
wait $simulator || failed=1
"$clients/openstack_operations.sh" "$work/log" || failed=1
exit $failed
