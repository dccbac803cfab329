#!/usr/bin/env bash
# Runs the end-to-end tests on the API server of another minor version of Kubernetes, which is built from its module.
# docs/reference/releases.md has the versions that were tested.
#
#   hack/e2e-kubernetes.sh 1.36 [go test flags]      the newest patch release
#   hack/e2e-kubernetes.sh v1.36.3 [go test flags]
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export KUBERNETES_VERSION=${1:?usage: hack/e2e-kubernetes.sh VERSION [go test flags]}
shift
unset KUBEBUILDER_ASSETS
hack/controlplane/build.sh etcd kube-apiserver kubectl
KUBEBUILDER_ASSETS=$(hack/controlplane/build.sh --folder)
export KUBEBUILDER_ASSETS
echo "== Kubernetes $(hack/controlplane/build.sh --versions | sed -n 's/^kubernetes //p')"
hack/test.sh e2e "$@"
