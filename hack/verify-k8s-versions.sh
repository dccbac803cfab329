#!/usr/bin/env bash
# All modules agree on one release of the Kubernetes libraries (v0.X.Y), and the
# control plane for tests is of the same minor (v1.X.Y). One binary links one
# version anyway: when a module asks for an older one, its tests would run
# against something that nobody ships.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The repositories that Kubernetes publishes from its own tree, on its cadence.
staging='k8s\.io/(api|apiextensions-apiserver|apimachinery|apiserver|cli-runtime|client-go|cloud-provider|cluster-bootstrap|code-generator|component-base|component-helpers|controller-manager|cri-api|cri-client|cri-streaming|csi-translation-lib|dynamic-resource-allocation|endpointslice|externaljwt|kms|kube-aggregator|kube-controller-manager|kube-proxy|kube-scheduler|kubectl|kubelet|metrics|mount-utils|pod-security-admission|sample-apiserver|streaming)'

# hack/controlplane names staging modules as v0.0.0 beside a replacement with the
# real version, so the right side of its replacements is what counts there.
# hack/tools links no Kubernetes.
found=$(
	for module in $(all_modules); do
		sed 's/ => .*\( k8s\.io\)/ =>\1/' "$module/go.mod" |
			grep -oE "(^|[[:space:]])$staging v[^[:space:]]+" |
			awk -v file="$module/go.mod" '$2 != "v0.0.0" { print $2, $1, file }' || true
	done | sort -u
)
versions=$(cut -d' ' -f1 <<<"$found" | sort -u)
if [[ $(wc -l <<<"$versions") != 1 ]]; then
	echo "modules disagree about the release of the Kubernetes libraries:"
	most=$(cut -d' ' -f1 <<<"$found" | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
	grep -v "^$most " <<<"$found" | awk -v most="$most" '{ printf "  %s: %s %s, elsewhere %s\n", $3, $2, $1, most }'
	exit 1
fi

kubernetes=$(hack/controlplane/build.sh --versions | awk '$1 == "kubernetes" { print $2 }')
if [[ ${versions/v0./v1.} != "$kubernetes" ]]; then
	echo "libraries are $versions but hack/controlplane builds kubernetes $kubernetes: they should be of one release"
	exit 1
fi
echo "libraries $versions, control plane $kubernetes"
