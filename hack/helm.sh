#!/usr/bin/env bash
# Builds the pinned Helm of a major version, once, and prints its path: hack/helm.sh 4
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

major=${1:-4}
out=$root/bin/tools/helm$major
key=$(cat hack/chart/go.mod hack/chart/go.sum | git hash-object --stdin)
if [[ ! -x $out || ! -f $out.key || $(<"$out.key") != "$key" ]]; then
	echo "building Helm $major (once)" >&2
	mkdir -p bin/tools
	(cd hack/chart && GOWORK=off go build -o "$out" "helm.sh/helm/v$major/cmd/helm" >&2)
	printf '%s\n' "$key" >"$out.key"
fi
printf '%s\n' "$out"
