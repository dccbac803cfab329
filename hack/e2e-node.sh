#!/usr/bin/env bash
# Runs the chart on real kubelets, which Debian's containerd and runc serve, with a control plane, kube-proxy and
# simulated clouds: the tests of cmd/ccm-lab/e2e/node. Needs root on Debian 12.
#
#   hack/e2e-node.sh [flags of the test binary]      such as -test.run TestFake
#
# All of it runs in namespaces of its own for mounts, networks and processes, which end with this script: nothing
# remains on the machine besides packages of Debian and the files in bin/e2e-node.
set -euo pipefail

# inside prepares the namespaces and runs the tests in them.
inside() {
	# Sockets, locks and state of pods are those of these namespaces only.
	mount -t tmpfs tmpfs /run
	mkdir -p /run/e2e /run/lock /var/lib/kubelet /var/log
	mount -t tmpfs tmpfs /var/lib/kubelet
	mount -t tmpfs tmpfs /var/log
	# Charts of others mount paths of the node, which the runtime creates below these.
	local folder
	for folder in /etc /usr/libexec; do
		mkdir -p "/run/e2e/new$folder" "/run/e2e/work$folder"
		mount -t overlay -o "lowerdir=$folder,upperdir=/run/e2e/new$folder,workdir=/run/e2e/work$folder" overlay "$folder"
	done
	# A kubelet sets these for the whole machine, unless they have its values.
	local setting
	for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
		kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
		[[ -e /proc/sys/${setting%=*} ]] || continue
		printf '%s\n' "${setting#*=}" >"/run/e2e/${setting//\//-}"
		mount --bind "/run/e2e/${setting//\//-}" "/proc/sys/${setting%=*}"
	done
	ip link set lo up
	ip address add 100.64.0.1/32 dev lo
	# Each address of the load balancers belongs to this machine.
	ip route add local 198.51.100.0/24 dev lo
	sysctl -qw net.ipv4.ip_forward=1
	"$CCM_E2E_NODE/node.test" -test.v -test.timeout=40m "$@" |
		{ grep --line-buffered -vE '^ *=== (RUN|PAUSE|CONT|NAME)' || true; }
}

if [[ ${1:-} == --inside ]]; then
	shift
	inside "$@"
	exit
fi

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source hack/lib-chart-move.sh
say() { printf 'e2e-node: %s (%d s)\n' "$*" "$SECONDS"; }

unset KUBEBUILDER_ASSETS # has no kubelet
export CCM_E2E_NODE=$root/bin/e2e-node CCM_E2E_BIN=$root/bin CCM_E2E_CGROUP=ccm-e2e-node
state=$CCM_E2E_NODE
packages=(containerd runc containernetworking-plugins buildah iptables nftables conntrack iproute2 procps util-linux curl)

codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null || true)
if [[ $(uname -s) != Linux || $codename != bookworm ]] || ! command -v apt-get >/dev/null; then
	echo "e2e-node: the packages are those of Debian 12 (bookworm), and this is ${codename:-$(uname -s)}" >&2
	exit 1
fi
if [[ $(id -u) != 0 ]]; then
	echo "e2e-node: only root may make namespaces, mounts and cgroups for kubelets" >&2
	exit 1
fi

# install_packages installs what is missing, without starting daemons.
install_packages() {
	local missing=() package failed=''
	for package in "${packages[@]}"; do
		dpkg-query --show --showformat '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
	done
	((${#missing[@]})) || return 0
	say "installing ${missing[*]}"
	apt-get update -qq || true # An older list of packages may be enough.
	if [[ ! -e /usr/sbin/policy-rc.d ]]; then
		policy=/usr/sbin/policy-rc.d
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod +x "$policy"
	fi
	DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq --no-install-recommends "${missing[@]}" >"$state/packages.log" 2>&1 ||
		failed=1
	[[ -z $policy ]] || rm -f "$policy"
	policy=''
	if [[ -n $failed ]]; then
		tail -n 5 "$state/packages.log" >&2
		return 1
	fi
}

# build_images builds ccm's own image in two versions, and one of the tests' other pods.
build_images() {
	export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs CONTAINERS_STORAGE_CONF=$state/storage.conf
	printf '[storage]\ndriver = "vfs"\ngraphroot = "%s/storage"\nrunroot = "%s/storage-run"\n' "$state" "$state" >"$state/storage.conf"
	local image=ghcr.io/unified-ccm/unified-ccm version container
	for version in v0.0.0-e2e.1 v0.0.0-e2e.2; do
		say "building the image $version"
		VERSION=$version BASE=scratch IMAGE=$image hack/image.sh >"$state/image.log" 2>&1 || { cat "$state/image.log" && return 1; }
		rm -f "$state/$version.tar"
		buildah push --quiet "$image:$version" "docker-archive:$state/$version.tar:$image:$version"
	done
	say "building the image of the tests' other pods"
	go build -ldflags=-s -o "$state/pod" ./cmd/ccm-lab/e2e/node/pod
	container=$(buildah from scratch)
	buildah copy --quiet "$container" "$state/pod" /pod >/dev/null
	buildah config --entrypoint '["/pod"]' --user 65534:65534 "$container"
	buildah commit --quiet "$container" localhost/ccm-e2e-pod:1 >/dev/null
	rm -f "$state/pod.tar"
	buildah push --quiet localhost/ccm-e2e-pod:1 "docker-archive:$state/pod.tar:localhost/ccm-e2e-pod:1"
	rm -rf "$state/storage" "$state/storage-run"
}

# copy_charts copies the clouds' own charts, which are parts of Go modules, to where the tests find them.
copy_charts() {
	local cloud chart work=$state/charts
	mkdir -p "$work"
	for cloud in aws openstack; do
		say "fetching the own chart of $cloud"
		chart=$(upstream_chart "$cloud")
		[[ -e $chart/Chart.yaml ]]
		cp -r --no-preserve=mode "$chart" "$state/$cloud-chart"
	done
}

# remove_cgroups removes the tests' cgroups once their processes have ended, with the namespaces.
remove_cgroups() {
	local top attempt
	for top in /sys/fs/cgroup/"$CCM_E2E_CGROUP" /sys/fs/cgroup/*/"$CCM_E2E_CGROUP"; do
		for attempt in {1..50}; do
			[[ -d $top ]] || break
			find "$top" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.2
		done
		[[ ! -d $top ]] || echo "e2e-node: $top remains after $attempt attempts: a process in it has not ended" >&2
	done
}

# cleanup ends all processes of the tests: the first one of their namespace is a child of unshare.
cleanup() {
	[[ -z ${child:-} ]] || kill -KILL "$child" 2>/dev/null || true
	wait 2>/dev/null || true
	[[ -z $policy ]] || rm -f "$policy"
	remove_cgroups
	# Logs remain until the next run.
	find "$state" -mindepth 2 -maxdepth 3 \( -name containerd -o -name etcd -o -name kubelet \) -type d -exec rm -rf {} +
	rm -rf "$state/storage" "$state/storage-run"
}

mkdir -p "$state"
exec 9>"$state/lock"
flock --nonblock 9 || { echo "e2e-node: another run uses bin/e2e-node" >&2 && exit 1; }
policy='' # of ours, while packages are installed
trap cleanup EXIT
trap 'exit 130' INT TERM
find "$state" -mindepth 1 -maxdepth 1 -type d -exec rm -rf {} +
install_packages
hack/controlplane/build.sh etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kubelet kube-proxy
helm 4 >/dev/null
say "building ccm and the tests"
go build -ldflags "$(hack/version.sh --ldflags)" -o "$root/bin/ccm" ./cmd/ccm
go test -c -o "$state/node.test" ./cmd/ccm-lab/e2e/node
build_images
copy_charts

say "running the tests"
unshare --mount --net --ipc --pid --fork --kill-child=KILL --mount-proc "$0" --inside "$@" 9>&- &
child=$!
code=0
wait "$child" || code=$?
child=''
say "$([[ $code == 0 ]] && echo passed || echo "FAILED; the logs are in bin/e2e-node")"
exit "$code"
