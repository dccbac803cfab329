#!/usr/bin/env bash
# docs/reference and the tables in docs/guides are what hack/update-docs.sh writes; hack/verify-comparison.sh checks the
# comparison in it.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

cp -R docs/guides "$fresh/guides"
DOCS_DIR=$fresh/reference GUIDES_DIR=$fresh/guides hack/update-docs.sh
for folder in reference guides; do
	if ! diff -ru --new-file --exclude='comparison.*' "docs/$folder" "$fresh/$folder"; then
		echo "docs/$folder is not up to date: run hack/update-docs.sh (or make generate)" >&2
		exit 1
	fi
done
