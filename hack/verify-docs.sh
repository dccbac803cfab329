#!/usr/bin/env bash
# docs/reference is what hack/update-docs.sh writes; hack/verify-comparison.sh checks the comparison in it.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

DOCS_DIR=$fresh hack/update-docs.sh
if ! diff -ru --new-file --exclude='comparison.*' docs/reference "$fresh"; then
	echo "docs/reference is not up to date: run hack/update-docs.sh (or make generate)" >&2
	exit 1
fi
