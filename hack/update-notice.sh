#!/usr/bin/env bash
# Writes NOTICE: the modules that the programs of a release link, with their licences. A licence that is not in the list
# of hack/release/licenses.go is an error.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
release notice >"$fresh"
cat "$fresh" >"${NOTICE:-NOTICE}"
