#!/usr/bin/env bash
# NOTICE lists what the programs link, and each licence is one of those that are allowed.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
NOTICE=$fresh hack/update-notice.sh
if ! diff -u NOTICE "$fresh"; then
	echo "NOTICE is not up to date: run hack/update-notice.sh (or make generate)" >&2
	exit 1
fi
