#!/usr/bin/env bash
# Writes the policies of deploy/aws from the calls that providers/aws/api lists. IAM_FOLDER is another folder to write to.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
for file in deploy/aws/iam-policy*.json; do
	name=$(basename "$file")
	go run ./providers/aws/internal/iampolicy "$name" >"$fresh"
	cat "$fresh" >"${IAM_FOLDER:-deploy/aws}/$name"
done
