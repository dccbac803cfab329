#!/usr/bin/env bash
# The policies in deploy/aws are what hack/update-iam.sh writes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
IAM_FOLDER=$generated hack/update-iam.sh
for file in deploy/aws/iam-policy*.json; do
	if ! diff -u "$file" "$generated/$(basename "$file")"; then
		echo "$file is not up to date: run hack/update-iam.sh (or make generate)" >&2
		exit 1
	fi
done
