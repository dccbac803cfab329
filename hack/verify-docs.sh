#!/usr/bin/env bash
<<<<<<< HEAD
# docs/reference is what hack/update-docs.sh writes; hack/verify-comparison.sh checks the comparison in it.
=======
# docs/reference is what hack/update-docs.sh writes. The comparison is made by a run, and its schema is written by hand.
>>>>>>> 2cf1033 (docs: the JSON Schema of comparisons, checked against the types)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

DOCS_DIR=$fresh hack/update-docs.sh
<<<<<<< HEAD
if ! diff -ru --new-file --exclude='comparison.*' docs/reference "$fresh"; then
=======
if ! diff -ru --new-file --exclude="comparison.*" docs/reference "$fresh"; then
>>>>>>> 2cf1033 (docs: the JSON Schema of comparisons, checked against the types)
	echo "docs/reference is not up to date: run hack/update-docs.sh (or make generate)" >&2
	exit 1
fi
