#!/usr/bin/env bash
# Writes deploy/aws/iam-policy.json from the calls that providers/aws/api lists. IAM_POLICY is another file to write.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
go run ./providers/aws/internal/iampolicy >"$fresh"
cat "$fresh" >"${IAM_POLICY:-deploy/aws/iam-policy.json}"
