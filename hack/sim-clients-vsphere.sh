#!/usr/bin/env bash
# Drives simulated vSphere with clients that are not part of this project: govc, pyVmomi (Debian: python3-pyvmomi), and the
# vSphere cloud controller manager with NSX-T, which this one takes over from and back. What is not installed is skipped,
# with the reason.
#
#   VSPHERE_CCM_BIN=FILE     a vsphere-cloud-controller-manager
#   VSPHERE_CCM_SOURCE=DIR   or a checkout of kubernetes/cloud-provider-vsphere to build it from
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$root/hack/lib-clients.sh"
clients=$root/providers/vsphere/sim/clients

skipped() { echo "sim-clients: vsphere: $1 skipped, because $2"; }

# find_python prints the first interpreter that has a module.
find_python() { # module
	local candidate
	while IFS= read -r candidate; do
		if "$candidate" -c "import $1" 2>/dev/null; then
			printf '%s\n' "$candidate"
			return
		fi
	done < <(type -ap python3)
}

# build_manager builds the other manager from a checkout, without its provider vsphere-paravirtual, which needs modules
# that not every proxy has. Files of this script's own stand in for that package; the checkout is only read.
build_manager() { # checkout output
	local source=$1 package=pkg/cloudprovider/vsphereparavirtual file
	cat >"$work/paravirtual.go" <<-'GO'
		package vsphereparavirtual

		const RegisteredProviderName = "vsphere-paravirtual"

		var (
			ClusterName  string
			RouteEnabled bool
		)
	GO
	cat >"$work/config.go" <<-'GO'
		package config

		const (
			VsphereParavirtualCloudProviderConfigPath = "/none"
			SupervisorClusterAccessCAFile             = "none"
			SupervisorClusterAccessNamespaceFile      = "none"
		)
	GO
	{
		printf '{"Replace": {'
		for file in "$source/$package"/*.go "$source/$package/config"/*.go; do
			printf '"%s": "", ' "$file"
		done
		printf '"%s": "%s", "%s": "%s"}}\n' "$source/$package/stand_in.go" "$work/paravirtual.go" \
			"$source/$package/config/stand_in.go" "$work/config.go"
	} >"$work/overlay.json"
	(cd "$source" && GOWORK=off GOFLAGS=-buildvcs=false go build -mod=mod -modfile="$work/manager.mod" \
		-overlay="$work/overlay.json" -o "$2" ./cmd/vsphere-cloud-controller-manager)
}

build_simulators
failed=0
start_simulator "$work" vsphere --instances=3
# The simulator is on the loopback, which a proxy does not reach.
export no_proxy=127.0.0.1 NO_PROXY=127.0.0.1
if govc=$(tool govc . hack/govc); then
	govc=$govc endpoint=$endpoint config=$work/cloud.conf home=$work/govc "$clients/govc.sh" || failed=1
else
	skipped govc "it cannot be built (the Go module github.com/vmware/govmomi)"
fi
if python=$(find_python pyVmomi) && [[ -n $python ]]; then
	"$python" "$clients/pyvmomi.py" "$endpoint" "$work/cloud.conf" || failed=1
else
	skipped pyVmomi "no python3 has it (Debian: apt-get install python3-pyvmomi)"
fi
stop_simulator || failed=1

manager=${VSPHERE_CCM_BIN:-}
if [[ -z $manager && -n ${VSPHERE_CCM_SOURCE:-} ]]; then
	cp "$VSPHERE_CCM_SOURCE/go.mod" "$work/manager.mod"
	cp "$VSPHERE_CCM_SOURCE/go.sum" "$work/manager.sum"
	manager=$work/vsphere-cloud-controller-manager
	build_manager "$(cd "$VSPHERE_CCM_SOURCE" && pwd)" "$manager" || failed=1
fi
if [[ -z $manager ]]; then
	skipped vsphere-cloud-controller-manager "neither VSPHERE_CCM_BIN nor VSPHERE_CCM_SOURCE names it"
elif [[ ! -x bin/ccm || ! -x bin/kube-apiserver ]]; then
	skipped vsphere-cloud-controller-manager "there is no bin/ccm or bin/kube-apiserver: run make build apiserver"
else
	# -count=1: go test's cache does not depend on the binaries.
	VSPHERE_CCM_BIN=$manager go test -count=1 -v -run '^TestTakeOverFromVSphereManagerAndBack$' ./cmd/ccm-lab/e2e || failed=1
fi
exit $failed
