#!/usr/bin/env bash
# Builds components of the control plane from their Go modules into <repository>/bin,
# and skips those that are up to date.
#
#   hack/controlplane/build.sh               build etcd, kube-apiserver, kube-controller-manager and kubectl
#   hack/controlplane/build.sh COMPONENT...  build only these
#   hack/controlplane/build.sh --versions    print the versions
#
# KUBERNETES_VERSION=1.36 (or v1.36.3) builds the components of another release, the newest patch of that minor version
# unless it is named, into bin/kubernetes-v1.36.3, and --folder prints that folder.
#
# KUBEBUILDER_ASSETS=DIR uses the binaries in DIR instead: nothing is built.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$(cd "$here/../.." && pwd)/bin
module=$here # of kubernetes

# Go needs a home for its caches. Containers may run without the variable; the shell then finds the folder.
export HOME=${HOME-~}

# Neither the workspace nor the caller's build flags may change the binaries. -trimpath and the tag
# are those of hack/lib.sh, and hack/verify-k8s-versions.sh keeps the modules at the workspace's versions:
# kube-apiserver then takes Kubernetes' libraries from the build cache that building ccm has filled.
export GOWORK=off CGO_ENABLED=0
export GOFLAGS="-mod=readonly -trimpath -buildvcs=false -tags=grpcnotrace"

required_version() { # module file -> version required in that go.mod
	awk -v module="$1" '$1 == "require" { sub(/^require /, "") } $1 == module && $2 ~ /^v/ { print $2; exit }' "$2"
}

kubernetes=$(required_version k8s.io/kubernetes "$here/go.mod")
etcd=$(required_version go.etcd.io/etcd/server/v3 "$here/etcd/go.mod")
staging=$(awk '$1 == "k8s.io/component-base" && $2 == "=>" { print $4 }' "$here/go.mod")

# write_module writes the module that builds another release: the requirements of that release, at the versions of its
# staging modules that are published with it. Sums that are missing come from Go's checksum database.
write_module() {
	local sources
	sources=$(cd / && GOFLAGS=-mod=mod go mod download -json "k8s.io/kubernetes@$kubernetes" | sed -n 's|.*"Dir": "\(.*\)".*|\1|p')
	mkdir -p "$module"
	sed -E -e "s|^module .*|module $(sed -n 's/^module //p' "$here/go.mod")/other|" \
		-e "s#^(\t(k8s\.io/[^ ]+) => )\./staging/.*#\1\2 $staging#" "$sources/go.mod" >"$module/go.mod"
	printf '\nrequire k8s.io/kubernetes %s\n' "$kubernetes" >>"$module/go.mod"
	install -m 644 "$sources/go.sum" "$module/go.sum"
}

if [[ -n ${KUBERNETES_VERSION:-} ]]; then
	kubernetes=v${KUBERNETES_VERSION#v}
	if [[ $kubernetes != v*.*.* ]]; then
		kubernetes=$(cd / && go list -m -versions k8s.io/kubernetes | tr ' ' '\n' |
			grep -E "^${kubernetes//./\\.}\.[0-9]+\$" | tail -n 1 || true)
	fi
	if [[ ! $kubernetes =~ ^v1\.[0-9]+\.[0-9]+$ ]]; then
		echo "control plane: KUBERNETES_VERSION=$KUBERNETES_VERSION is not a release; use 1.36 or v1.36.3" >&2
		exit 2
	fi
	staging=v0${kubernetes#v1}
	bin=$bin/kubernetes-$kubernetes
	module=$bin/module
	GOFLAGS=${GOFLAGS/readonly/mod}
	[[ -f $module/go.mod ]] || write_module
fi
stamps=$bin/.controlplane

if [[ ${1:-} == --folder ]]; then
	printf '%s\n' "$bin"
	exit 0
fi
if [[ ${1:-} == --versions ]]; then
	printf 'kubernetes %s\nstaging %s\netcd %s\n' "$kubernetes" "$staging" "$etcd"
	exit 0
fi

components=("$@")

# Assets made for envtest contain no kube-controller-manager: without arguments only the
# components that every cluster needs are required.
if [[ -n ${KUBEBUILDER_ASSETS:-} ]]; then
	((${#components[@]} > 0)) || components=(etcd kube-apiserver)
	for name in "${components[@]}"; do
		if [[ ! -x $KUBEBUILDER_ASSETS/$name ]]; then
			echo "control plane: KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS has no $name; unset it to build one into bin/" >&2
			exit 1
		fi
	done
	echo "control plane: using KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS"
	exit 0
fi

# Kubernetes' own builds set their version in the same variables. The API server
# reports it, such as "v1.37.1", to its clients.
version_flags() {
	local version=${kubernetes#v} package flags=""
	local major=${version%%.*} minor=${version#*.}
	minor=${minor%%.*}
	for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		flags+=" -X $package.gitVersion=$kubernetes -X $package.gitMajor=$major"
		flags+=" -X $package.gitMinor=$minor -X $package.gitTreeState=clean"
	done
	printf '%s' "$flags"
}

# Comments and checksums do not change a binary: without them, editing a comment rebuilds nothing.
build_key() { # package directory linker-flags -> a hash of all inputs of the build
	local package=$1 directory=$2 flags=$3
	{
		go version
		go env GOOS GOARCH GOFLAGS CGO_ENABLED
		printf '%s\n' "$package" "$flags"
		sed -e 's|[[:space:]]*//.*||' -e '/^$/d' "$directory/go.mod"
	} | git hash-object --stdin
}

up_to_date() { # name key
	[[ -x $bin/$1 && -f $stamps/$1 && $(<"$stamps/$1") == "$2" ]]
}

# show_progress reads `go build -v` and prints only errors. On a
# terminal it keeps one line moving.
show_progress() { # name
	local line compiled=0 fetched=0
	while IFS= read -r line; do
		case $line in
		"go: downloading "*) fetched=$((fetched + 1)) ;;
		*" "* | *:) printf '%s\n' "$line" >&2 && continue ;;
		*) compiled=$((compiled + 1)) ;;
		esac
		if [[ -t 1 ]]; then
			printf '\r  %-24s %4d modules fetched, %4d packages compiled' "$1" "$fetched" "$compiled"
		fi
	done
	if [[ -t 1 ]]; then printf '\r\033[K'; fi
}

build() { # name package version directory linker-flags
	local name=$1 package=$2 version=$3 directory=$4 flags="-s -w$5" key started=$SECONDS
	key=$(build_key "$package" "$directory" "$flags")
	if up_to_date "$name" "$key"; then return; fi
	if ((built == 0)); then
		echo "control plane: building into bin/ (etcd and kube-apiserver take about 3 minutes on 2 cores; only this once)"
	fi
	built=$((built + 1))
	[[ -t 1 ]] || printf '  %-24s %-9s building\n' "$name" "$version"
	# The binary gets its name when it is complete: a later run never uses the result of an interrupted build.
	(cd "$directory" && go build -v -ldflags "$flags" -o "$bin/.$name.new" "$package" 2>&1) | show_progress "$name"
	mv "$bin/.$name.new" "$bin/$name"
	printf '%s\n' "$key" >"$stamps/$name"
	printf '  %-24s %-9s %3d s\n' "$name" "$version" $((SECONDS - started))
}

mkdir -p "$stamps"

# Two concurrent builds would compile everything twice.
if command -v flock >/dev/null; then
	exec 9>"$stamps/lock"
	flock -n 9 || { echo "control plane: waiting for another build of it" && flock 9; }
fi

((${#components[@]} > 0)) || components=(etcd kube-apiserver kube-controller-manager kubectl)
built=0
for name in "${components[@]}"; do
	case $name in
	etcd) build etcd go.etcd.io/etcd/server/v3 "$etcd" "$here/etcd" "" ;;
	kube-apiserver | kube-controller-manager | kube-scheduler | kubectl | kubelet | kube-proxy)
		build "$name" "k8s.io/kubernetes/cmd/$name" "$kubernetes" "$module" "$(version_flags)"
		;;
	*)
		echo "control plane: unknown component $name; use etcd, kube-apiserver, kube-controller-manager, kube-scheduler," \
			"kubectl, kubelet or kube-proxy" >&2
		exit 2
		;;
	esac
done
if ((built == 0)); then
	echo "control plane: up to date (kubernetes $kubernetes, etcd $etcd)"
fi
