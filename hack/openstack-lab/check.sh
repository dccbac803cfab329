#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2154 # variables are shared with lab.sh
# Sourced by lab.sh: whether there can be a lab on this machine.

# cannot is the exit code of what cannot be done on this machine: one line on standard output has said why.
cannot=3

say() { printf 'openstack-lab: %s (%d s)\n' "$*" "$SECONDS"; }
die() {
	printf 'openstack-lab: %s\n' "$*" >&2
	exit 1
}

# release is the release of Debian that packages the supported release of OpenStack.
release=bookworm
# memory is what all services need, in MiB, with a reserve.
memory=3500

# cannot_run prints why this machine cannot run a lab, and fails if it can.
cannot_run() {
	local reason='' codename free
	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null || true)
	free=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo 2>/dev/null || true)
	if [[ $(uname -s) != Linux ]] || ! command -v apt-get >/dev/null || [[ $codename != "$release" ]]; then
		reason="the packages are those of Debian 12 ($release), and this is ${codename:-$(uname -s)}"
	elif [[ $(id -u) != 0 ]]; then
		reason="only root may install the packages"
	elif [[ -n $free ]] && ((free < memory)); then
		reason="the services take $memory MiB of memory, and $free are free"
	fi
	[[ -n $reason ]] || return 1
	printf '%s\n' "$reason"
}
