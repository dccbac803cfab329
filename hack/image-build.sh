#!/usr/bin/env bash
# Compiles the ccm that goes into an image: static, for Linux on TARGETARCH (this
# machine's when unset), without the providers in PROVIDERS_EXCLUDE (a,b).
#
#   hack/image-build.sh DIRECTORY     writes DIRECTORY/ccm, and links to it in DIRECTORY/bin under the names of the
#                                     clouds' own managers
set -euo pipefail

out=$(mkdir -p "${1:?usage: hack/image-build.sh DIRECTORY}" && cd "$1" && pwd)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

tags=$build_tags
exclude=${PROVIDERS_EXCLUDE:-}
for name in ${exclude//,/ }; do
	# Without this check, a misspelt name would silently include the provider.
	if ! grep -qsE "^//go:build .*!exclude_$name\b" cmd/ccm/*.go; then
		echo "image: PROVIDERS_EXCLUDE names $name, which is no provider of ccm" >&2
		exit 1
	fi
	tags+=",exclude_$name"
done

export GOOS=linux
[[ -z ${TARGETARCH:-} ]] || export GOARCH=$TARGETARCH
go build -tags "$tags" -ldflags "$(hack/version.sh --ldflags)" -o "$out/ccm" ./cmd/ccm

mkdir -p "$out/bin"
for name in $(providers); do
	if [[ ,$exclude, != *,$name,* ]]; then
		ln -sf ../ccm "$out/bin/$name-cloud-controller-manager"
	fi
done
