#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2154 # variables are shared with lab.sh
# Sourced by lab.sh: Debian's packages.

# Libraries and servers are installed. Packages that would create system users, databases and daemons are only unpacked
# into the lab, which needs their programs and API descriptions.
installed=(mariadb-server-core mariadb-client-core rabbitmq-server uwsgi-core uwsgi-plugin-python3 python3-pymysql
	python3-openstacksdk python3-keystone python3-glance python3-placement python3-nova python3-neutron
	python3-octavia python3-barbican curl openssl)
unpacked=(glance-common glance-api nova-common nova-api nova-conductor nova-scheduler nova-compute neutron-common
	barbican-common)

install_packages() {
	local missing=() absent=() package
	for package in "${installed[@]}"; do
		dpkg-query --show --showformat '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
	done
	for package in "${unpacked[@]}"; do
		[[ -e $finished/package-$package ]] || absent+=("$package")
	done
	((${#missing[@]} + ${#absent[@]})) || return 0
	say "${#missing[@]} packages to install, ${#absent[@]} to unpack"
	# An older list of packages may be enough.
	apt-get update >"$logs/packages.log" 2>&1 || true
	((${#missing[@]} == 0)) || without_daemons apt-get install --yes --no-install-recommends "${missing[@]}"
	((${#absent[@]} == 0)) || unpack "${absent[@]}"
}

# unavailable exits with the code unsupported: without the packages there is no lab.
unavailable() {
	echo "Debian's packages for it are not available: $(grep -m1 -E '^(E|Err)' "$logs/packages.log" || echo "see $logs/packages.log")"
	exit "$unsupported"
}

# without_daemons runs an apt command that starts no daemons: Debian's policy-rc.d forbids it.
without_daemons() {
	local policy=/usr/sbin/policy-rc.d ours='' failed=0
	if [[ ! -e $policy ]]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod +x "$policy"
		ours=1
	fi
	DEBIAN_FRONTEND=noninteractive "$@" >>"$logs/packages.log" 2>&1 || failed=1
	[[ -z $ours ]] || rm -f "$policy"
	((failed == 0)) || unavailable
}

unpack() { # package...
	local package
	mkdir -p "$state/packages"
	(cd "$state/packages" && apt-get download "$@" >>"$logs/packages.log" 2>&1) || unavailable
	for package in "$@"; do
		dpkg-deb --extract "$state/packages/$package"_*.deb "$lab/debian"
		touch "$finished/package-$package"
	done
	rm -rf "$state/packages"
}

# python_environment makes every program use Debian's Python, and the modules with which this lab replaces parts of
# the services. Neutron finds a driver by the entry points of a package.
python_environment() {
	local description=$lab/python/ccm_openstack_lab-1.dist-info
	mkdir -p "$description" "$lab/home"
	printf 'Metadata-Version: 2.1\nName: ccm-openstack-lab\nVersion: 1\n' >"$description/METADATA"
	printf '[neutron.ml2.mechanism_drivers]\nagentless = agentless:Ports\n' >"$description/entry_points.txt"
	unset PYTHONHOME VIRTUAL_ENV "${!OS_@}"
	export PATH=$lab/debian/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=$lab/home LC_ALL=C.UTF-8
	export PYTHONPATH=$here/python:$lab/python PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
	export no_proxy=127.0.0.1,localhost NO_PROXY=127.0.0.1,localhost
}
