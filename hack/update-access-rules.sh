#!/usr/bin/env bash
# Writes deploy/openstack/access-rules.json from the calls of providers/openstack/api. ACCESS_RULES is another file to write.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
go run ./providers/openstack/internal/accessrules >"$fresh"
cat "$fresh" >"${ACCESS_RULES:-deploy/openstack/access-rules.json}"
