#!/usr/bin/env bash
# The conformance list with the real binary, a real kube-apiserver and real OpenStack services, which
# hack/openstack-lab brings up, after the test that takes over what another manager leaves there. Where that cannot be,
# says so in one line and succeeds.
#
#   hack/e2e-openstack.sh [go test flags]
#
#   OPENSTACK_LAB=DIR  a lab that is up already, which is then left as it is; or where to make one that is kept
#   PORTS_FROM=N       moves the ports of the lab that this brings up (0)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

lab=${OPENSTACK_LAB:-}
if [[ -z $lab ]]; then
	lab=$(mktemp -d)
	temporary=1
elif [[ $lab != /* ]]; then
	lab=$OLDPWD/$lab
fi

# leave ends what this has started.
leave() {
	if [[ -n ${started:-} ]]; then hack/openstack-lab/lab.sh down "$lab"; fi
	if [[ -n ${temporary:-} ]]; then rm -rf "$lab"; fi
}
trap leave EXIT

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

# -count=1: what this tests, services and the binaries in bin/, is nothing that go test's own cache can see.
OPENSTACK_LAB=$lab go test -count=1 -timeout 60m -v -run '^TestTakeOverOnRealServices$' ./providers/openstack/loadbalancer
OPENSTACK_LAB=$lab go test -count=1 -timeout 120m -v -run '^Test(Conformance|AuditDeletesOrphans)$' "$@" ./cmd/ccm-lab/e2e |
	grep --line-buffered -vE '^ *=== (RUN|PAUSE|CONT|NAME)'
