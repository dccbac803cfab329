#!/usr/bin/env bash
# Go files are formatted. hack/update-gofmt.sh repairs it.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

mapfile -t files < <(go_files)
unformatted=$(gofmt -s -l "${files[@]}")
if [[ -n $unformatted ]]; then
	printf 'not formatted (hack/update-gofmt.sh repairs it):\n%s\n' "$unformatted"
	exit 1
fi
