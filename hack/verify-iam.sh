#!/usr/bin/env bash
# deploy/aws/iam-policy.json is what hack/update-iam.sh writes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT

IAM_POLICY=$fresh hack/update-iam.sh
if ! diff -u deploy/aws/iam-policy.json "$fresh"; then
	echo "deploy/aws/iam-policy.json is not up to date: run hack/update-iam.sh (or make generate)" >&2
	exit 1
fi
