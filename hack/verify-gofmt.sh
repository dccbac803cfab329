#!/usr/bin/env bash
# The Go files of the modules of hack/ are formatted. The linter reads those of the workspace. hack/update-gofmt.sh repairs
# both.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

mapfile -t files < <(go_files | grep '^hack/')
unformatted=$(gofmt -s -l "${files[@]}")
if [[ -n $unformatted ]]; then
	printf 'not formatted (hack/update-gofmt.sh repairs it):\n%s\n' "$unformatted"
	exit 1
fi
