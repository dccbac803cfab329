#!/usr/bin/env bash
# Tests on real OpenStack services, which hack/openstack-lab starts: the take-over of another manager's load balancers,
# then the conformance list and the deletion of orphans with the ccm binary and a kube-apiserver. On a machine that cannot
# run the services, it prints the reason in one line and succeeds.
#
#   hack/e2e-openstack.sh [go test flags]
#
#   OPENSTACK_LAB=DIR  a lab that runs, which keeps running; or the folder of a new one, which stays
#   PORTS_FROM=N       moves the ports of a lab that this starts (0)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

lab=${OPENSTACK_LAB:-}
if [[ -z $lab ]]; then
	lab=$(mktemp -d)
	temporary=1
elif [[ $lab != /* ]]; then
	lab=$OLDPWD/$lab
fi

# cleanup stops the lab that this script has started.
cleanup() {
	if [[ -n ${started:-} ]]; then hack/openstack-lab/lab.sh down "$lab"; fi
	if [[ -n ${temporary:-} ]]; then rm -rf "$lab"; fi
}
trap cleanup EXIT

if ! { [[ -d $lab/run ]] && hack/openstack-lab/lab.sh status "$lab" >/dev/null; }; then
	if ! reason=$(hack/openstack-lab/lab.sh check); then
		echo "e2e-openstack: skipped: $reason"
		exit 0
	fi
	started=1
	code=0
	hack/openstack-lab/lab.sh up "$lab" || code=$?
	if ((code == 3)); then
		echo "e2e-openstack: skipped: the lab cannot be brought up here, for the reason above"
		exit 0
	fi
	((code == 0)) || exit "$code"
fi

# -count=1: go test's cache does not depend on services and the binaries in bin/.
OPENSTACK_LAB=$lab go test -count=1 -timeout 60m -v -run '^TestTakeOverOnRealServices$' ./providers/openstack/loadbalancer
OPENSTACK_LAB=$lab go test -count=1 -timeout 120m -v -run '^Test(Conformance|AuditDeletesOrphans)$' "$@" ./cmd/ccm-lab/e2e |
	grep --line-buffered -vE '^ *=== (RUN|PAUSE|CONT|NAME)'
