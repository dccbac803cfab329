#!/usr/bin/env bash
# docs/reference, besides releases.md, and the tables in docs/guides are what hack/update-docs.sh writes, and the tests that pages name as
# evidence exist; hack/verify-comparison.sh checks the comparison in docs/reference.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

failed=0
while read -r page name; do
	git grep -qw "func $name" -- '*_test.go' || { echo "$page names $name, and no such test exists" >&2; failed=1; }
done < <(git grep -ow 'Test[A-Z][[:alnum:]]*' -- '*.md' | tr ':' ' ' | sort -u)
((failed == 0)) || exit 1

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

cp -R docs/guides "$fresh/guides"
DOCS_DIR=$fresh/reference GUIDES_DIR=$fresh/guides hack/update-docs.sh
for folder in reference guides; do
	if ! diff -ru --new-file --exclude='comparison.*' --exclude=releases.md "docs/$folder" "$fresh/$folder"; then
		echo "docs/$folder is not up to date: run hack/update-docs.sh (or make generate)" >&2
		exit 1
	fi
done
