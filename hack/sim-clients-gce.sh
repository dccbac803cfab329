#!/usr/bin/env bash
# Drives simulated Compute Engine with clients of Debian: libcloud's driver (python3-libcloud), Google's client for
# Python with Google's description of the API (python3-googleapi), the modules of ansible's collection google.cloud
# (ansible), and the manager of cloud-provider-gcp beside ccm. Each that is missing is skipped with a message.
#
#   GCE_CCM_BIN=FILE     a cloud-controller-manager of cloud-provider-gcp
#   GCE_CCM_SOURCE=DIR   or a checkout of kubernetes/cloud-provider-gcp to build it from
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$root/hack/lib-clients.sh"
clients=$root/providers/gce/sim/clients
python=/usr/bin/python3

build_simulators
description=$(cd "$root/providers/gce/sim" && go list -m -f '{{.Dir}}' google.golang.org/api)/compute/v1/compute-api.json

# token prints a token from the simulated metadata server.
token() {
	no_proxy=127.0.0.1 $python -c 'import json, sys, urllib.request
request = urllib.request.Request(sys.argv[1] + "/computeMetadata/v1/instance/service-accounts/default/token",
                                 headers={"Metadata-Flavor": "Google"})
print(json.load(urllib.request.urlopen(request))["access_token"])' "$endpoint"
}

# run_client starts a simulator, runs a command against it, and stops it.
run_client() { # name command...
	local here=$work/$1 failed=0
	mkdir "$here"
	start_simulator "$here" gce --instances=3 || return 1
	token=$(token) endpoint=$endpoint work=$here no_proxy=127.0.0.1 NO_PROXY=127.0.0.1 "${@:2}" || failed=1
	stop_simulator || failed=1
	return $failed
}

libcloud() { $python "$clients/libcloud_gce.py" "$endpoint" "$token"; }
googleapi() { $python "$clients/discovery_client.py" "$endpoint" "$token" "$description"; }

failed=0 have_any=0
for client in libcloud:python3-libcloud googleapi:python3-googleapi; do
	name=${client%%:*} module=${client%%:*}
	[[ $name != googleapi ]] || module=googleapiclient
	if $python -c "import $module" 2>/dev/null; then
		have_any=1
		run_client "$name" "$name" || failed=1
	else
		echo "sim-clients: gce: $name skipped, because it is not installed (Debian: apt-get install ${client#*:})"
	fi
done
if [[ -d /usr/lib/python3/dist-packages/ansible_collections/google/cloud ]]; then
	have_any=1
	run_client ansible "$clients/ansible.sh" || failed=1
else
	echo "sim-clients: gce: ansible skipped, because it is not installed (Debian: apt-get install ansible)"
fi
manager=${GCE_CCM_BIN:-}
if [[ -z $manager && -n ${GCE_CCM_SOURCE:-} ]]; then
	manager=$work/cloud-controller-manager
	(cd "$GCE_CCM_SOURCE" && GOFLAGS=-buildvcs=false go build -o "$manager" ./cmd/cloud-controller-manager) || failed=1
fi
if [[ -z $manager ]]; then
	echo "sim-clients: gce: cloud-provider-gcp skipped, because neither GCE_CCM_BIN nor GCE_CCM_SOURCE names it"
elif [[ ! -x bin/ccm || ! -x bin/kube-apiserver ]]; then
	echo "sim-clients: gce: cloud-provider-gcp skipped, because there is no bin/ccm or bin/kube-apiserver: run make build" \
		"apiserver"
else
	have_any=1
	# -count=1: go test's cache does not depend on the binaries.
	GCE_CCM_BIN=$manager go test -count=1 -v -timeout 30m -run 'BesideGCEManager$' ./cmd/ccm-lab/e2e || failed=1
fi
((have_any)) || echo "sim-clients: gce: no client is installed"
exit $failed
