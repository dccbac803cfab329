#!/usr/bin/env bash
# Runs each fuzz target for a time. An input that fails is written to testdata/fuzz of its package, where every run of
# the tests repeats it: add it to the repository with the fix.
#
#   hack/fuzz.sh [REGEXP]   those with "FOLDER FuzzName" like REGEXP
#
#   FUZZTIME   time for each, 1m by default
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

mapfile -t targets < <(go_files | grep '_test\.go$' | xargs -d '\n' grep -oE '^func Fuzz[A-Za-z0-9]+' |
	sed -E 's|/[^/]+:func | |' | grep -E -- "${1:-.}" | sort)
if ((${#targets[@]} == 0)); then
	echo "fuzz: no target is called ${1:-Fuzz…}" >&2
	exit 1
fi
failed=()
for target in "${targets[@]}"; do
	read -r folder name <<<"$target"
	echo "== $target"
	(cd "$folder" && go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-1m}" -fuzzminimizetime 1s .) || failed+=("$target")
done
if ((${#failed[@]} > 0)); then
	printf 'FAILED: %s\n' "${failed[@]}" >&2
	exit 1
fi
