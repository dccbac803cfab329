#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2154 # variables are shared with lab.sh
# Sourced by lab.sh: checks whether this machine can run a lab.

# unsupported is the exit code if this machine cannot run a lab. One line on standard output has the reason.
unsupported=3

say() { printf 'openstack-lab: %s (%d s)\n' "$*" "$SECONDS"; }
die() {
	printf 'openstack-lab: %s\n' "$*" >&2
	exit 1
}

# release is the release of Debian that packages the supported release of OpenStack.
release=bookworm
# memory is what all services need, in MiB, with a reserve.
memory=3500

# print_unsupported prints why this machine cannot run a lab, and fails if it can run one.
print_unsupported() {
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
