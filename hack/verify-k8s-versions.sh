#!/usr/bin/env bash
# All modules require one release of the Kubernetes libraries (v0.X.Y), and the
# control plane for tests is of the same release (v1.X.Y). One binary links one
# version anyway: with an older one in its go.mod, a module would be tested
# against a version that is in no release.
#
# All other modules that ccm-lab and the control plane share have one version too:
# one newer module at the bottom, such as golang.org/x/sys, would compile Kubernetes'
# libraries a second time.
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
	majority=$(cut -d' ' -f1 <<<"$found" | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
	grep -v "^$majority " <<<"$found" | awk -v majority="$majority" '{ printf "  %s: %s %s, in most modules %s\n", $3, $2, $1, majority }'
	exit 1
fi

kubernetes=$(hack/controlplane/build.sh --versions | awk '$1 == "kubernetes" { print $2 }')
if [[ ${versions/v0./v1.} != "$kubernetes" ]]; then
	echo "libraries are $versions but hack/controlplane builds kubernetes $kubernetes: they should be of one release"
	exit 1
fi

required() { # folder -> module version, one per line
	awk '$1 == "require" { sub(/^require /, "") } $1 ~ /\// && $2 ~ /^v/ && $2 != "v0.0.0" { print $1, $2 }' "$1/go.mod" | sort
}
different=$(join <(required cmd/ccm-lab) <(required hack/controlplane) | awk '$2 != $3')
if [[ -n $different ]]; then
	echo "hack/controlplane/go.mod has other versions than cmd/ccm-lab/go.mod:"
	awk '{ printf "  %s %s, should be %s (cd hack/controlplane && go get %s@%s && go mod tidy)\n", $1, $3, $2, $1, $2 }' <<<"$different"
	exit 1
fi

# etcd requires some of them at other versions, and has replacements. Its own modules are of another release than
# Kubernetes' client of it.
replaced() { # folder -> the module and version on the right side of each replacement
	awk '$3 == "=>" && $5 ~ /^v/ { print $4, $5 }' "$1/go.mod" | sort
}
etcd=hack/controlplane/etcd
built=$(sort -u -k1,1 <(replaced $etcd) <(required $etcd | grep -vFf <(replaced $etcd | awk '{ print $1 " " }')))
different=$(join <(required hack/controlplane) <(printf '%s\n' "$built") | awk '$2 != $3 && $1 !~ /^go\.etcd\.io\/etcd\//')
if [[ -n $different ]]; then
	echo "$etcd/go.mod has other versions than hack/controlplane/go.mod: its build would compile them a second time"
	awk '{ printf "  %s %s, add: replace %s %s => %s %s\n", $1, $3, $1, $3, $1, $2 }' <<<"$different"
	exit 1
fi
echo "libraries $versions, control plane $kubernetes"
