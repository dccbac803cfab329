#!/usr/bin/env bash
# Real OpenStack services on this machine's loopback, from Debian's packages: Keystone, Glance, Placement,
# Nova, Neutron, Octavia and Barbican. README.md in this folder lists which parts are real.
#
#   hack/openstack-lab/lab.sh up DIR       start the services that do not run; all files are in DIR
#   hack/openstack-lab/lab.sh status DIR   list the services; succeeds if all of them run
#   hack/openstack-lab/lab.sh down DIR     stop the services; the files in DIR stay
#   hack/openstack-lab/lab.sh check        succeed, or print in one line why this machine cannot run a lab
#
#   PORTS_FROM=N  the lab's ports are the services' usual ones plus N (0), set by the first up in DIR
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
here=$root/hack/openstack-lab
# shellcheck source=check.sh
source "$here/check.sh"
# shellcheck source=processes.sh
source "$here/processes.sh"
# shellcheck source=packages.sh
source "$here/packages.sh"
# shellcheck source=configure.sh
source "$here/configure.sh"
# shellcheck source=services.sh
source "$here/services.sh"

usage() {
	echo "usage: hack/openstack-lab/lab.sh up|status|down DIR, or check" >&2
	exit 2
}

# select_lab sets all paths and ports from the folder of a lab.
select_lab() { # directory
	# Relative paths are relative to the folder of the caller; this script runs in the root of the repository.
	[[ $1 == /* ]] || set -- "$OLDPWD/$1"
	lab=$1 etc=$1/etc logs=$1/log state=$1/state run=$1/run finished=$1/done
	# A Unix socket's name has room for 107 bytes.
	socket=$run/mariadb.sock
	((${#socket} < 100)) || die "the name of the folder is too long for a Unix socket in it: $lab"
	[[ ! -r $lab/ports-from ]] || PORTS_FROM=$(<"$lab/ports-from")
	ports "${PORTS_FROM:-0}"
}

up() {
	if print_unsupported; then exit "$unsupported"; fi
	mkdir -p "$lab" "$etc" "$logs" "$state" "$run" "$finished"
	chmod 700 "$lab" # It holds passwords.
	exec 9>"$run/lock"
	flock -n 9 || die "another up works in $lab"
	printf '%s\n' "${PORTS_FROM:-0}" >"$lab/ports-from"
	[[ -s $lab/password ]] || od -An -N12 -tx1 /dev/urandom | tr -d ' \n' >"$lab/password"
	password=$(<"$lab/password")
	install_packages
	python_environment
	configure
	start_all
	say "up: source $lab/openrc for the tenant, $lab/openrc-admin for the administrator"
}

status() {
	local name code=0
	for name in "${stores[@]}" "${services[@]}"; do
		if is_running "$name"; then
			printf '%-16s runs\n' "$name"
		else
			printf '%-16s does not run\n' "$name"
			code=1
		fi
	done
	return $code
}

# down stops the services in parallel, and then, one by one, the stores of their data.
down() {
	local name i
	for name in "${services[@]}"; do send_signal TERM "$name"; done
	for name in "${services[@]}"; do stop_process "$name"; done
	for ((i = ${#stores[@]} - 1; i >= 0; i--)); do
		send_signal TERM "${stores[i]}"
		stop_process "${stores[i]}"
	done
	say "down: the data of the services is still in $lab"
}

case ${1:-} in
check)
	(($# == 1)) || usage
	if print_unsupported; then exit "$unsupported"; fi
	;;
up | status | down)
	(($# == 2)) || usage
	select_lab "$2"
	"$1"
	;;
*) usage ;;
esac
