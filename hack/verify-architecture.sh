#!/usr/bin/env bash
# The diagrams in docs/architecture.md show the imports of the code.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT

cp docs/architecture.md "$fresh"
ARCHITECTURE=$fresh hack/update-architecture.sh
if ! diff -u docs/architecture.md "$fresh"; then
	echo "docs/architecture.md is not up to date: run hack/update-architecture.sh (or make generate)" >&2
	exit 1
fi
