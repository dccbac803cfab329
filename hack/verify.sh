#!/usr/bin/env bash
# Runs every hack/verify-*.sh in order, one line each, and lists all failures at
# the end. A script's output is shown only when it fails, apart from lines that start with "note: ".
#
#   hack/verify.sh             all of them
#   hack/verify.sh names tags  hack/verify-names.sh and hack/verify-tags.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if (($# > 0)); then
	scripts=("${@/#/hack/verify-}")
	scripts=("${scripts[@]/%/.sh}")
else
	scripts=(hack/verify-*.sh)
fi

output=$(mktemp)
trap 'rm -f "$output"' EXIT

failed=()
for script in "${scripts[@]}"; do
	started=$SECONDS
	printf '%-36s ' "$script"
	if "$script" >"$output" 2>&1; then
		printf 'ok     %4d s\n' $((SECONDS - started))
		sed -n 's/^note: /    /p' "$output"
	else
		printf 'FAILED %4d s\n' $((SECONDS - started))
		sed 's/^/    /' "$output"
		failed+=("$script")
	fi
done

if ((${#failed[@]} > 0)); then
	printf '\n%d of %d checks failed:\n' ${#failed[@]} ${#scripts[@]}
	printf '  %s\n' "${failed[@]}"
	exit 1
fi
printf '\nall %d checks passed\n' ${#scripts[@]}
