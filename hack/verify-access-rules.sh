#!/usr/bin/env bash
# deploy/openstack/access-rules.json is what hack/update-access-rules.sh writes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT

ACCESS_RULES=$fresh hack/update-access-rules.sh
if ! diff -u deploy/openstack/access-rules.json "$fresh"; then
	echo "deploy/openstack/access-rules.json is not up to date: run hack/update-access-rules.sh (or make generate)" >&2
	exit 1
fi
