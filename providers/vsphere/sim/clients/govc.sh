#!/usr/bin/env bash
# Reads a vCenter with govc as its administrators do. In the environment: $govc is the command, $endpoint the URL of a
# simulator with three machines, $config its cloud.conf, and $home a folder for sessions.
set -euo pipefail

value() { sed -nE "1,/^$/s/^$1 = \"?([^\"]*)\"?$/\1/p" "$config"; }
export GOVC_URL=$endpoint/sdk GOVC_USERNAME GOVC_PASSWORD GOVC_INSECURE=true GOVMOMI_HOME=$home GOVC_PERSIST_SESSION=false
GOVC_USERNAME=$(value user) GOVC_PASSWORD=$(value password)
unset GOVC_DATACENTER GOVC_VIM_VERSION GOVC_VIM_NAMESPACE

checks=0 failures=0
failed() { echo "govc: $*" >&2; failures=$((failures + 1)); }
# ok compares the output of a command, in one line, with a pattern; refused wants an error with a text.
ok() { # pattern command...
	local want=$1 got
	shift
	checks=$((checks + 1))
	# The pattern is meant to be one.
	# shellcheck disable=SC2053
	got=$("$govc" "$@" 2>&1 | tr -s ' \t\n' ' ') && [[ $got == $want ]] || failed "$*: $got, want $want"
}
refused() { # text command...
	local want=$1 got
	shift
	checks=$((checks + 1))
	if got=$("$govc" "$@" 2>&1); then failed "$*: succeeded"; elif [[ $got != *"$want"* ]]; then failed "$*: $got, want $want"; fi
}

ok "*vCenter*API version*" about
ok "/DC0/vm/node-1 /DC0/vm/node-2 /DC0/vm/node-3 " find -type m
ok "*Name: node-1*4096MB*2 vCPU*poweredOn*10.0.0.1 Host: DC0_C0_H0 " vm.info node-1
ok "10.0.0.2 " vm.ip node-2
ok "poweredOn node-1 " object.collect -s vm/node-1 summary.runtime.powerState guest.hostName
uuid=$("$govc" object.collect -s vm/node-3 summary.config.uuid)
ok "*Name: node-3*" vm.info -vm.uuid="$uuid"
ok "k8s-region k8s-zone " tags.category.ls
ok "*zone-1*" tags.ls
ok "zone-1 " tags.attached.ls -r /DC0/host/DC0_C0
ok "*region-1*" tags.attached.ls -r /DC0
ok "" session.login
GOVC_PERSIST_SESSION=true ok "" session.login
GOVC_PERSIST_SESSION=true ok "*$GOVC_USERNAME*" session.ls
GOVC_PERSIST_SESSION=true ok "" session.logout
GOVC_PASSWORD=wrong refused "Login failure" find -type m

((failures == 0)) || exit 1
echo "govc: $checks checks passed"
