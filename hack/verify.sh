#!/usr/bin/env bash
# Runs every hack/verify-*.sh, one line each, and lists all failures at
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

work=$(mktemp -d)
background='' child=''

# stop ends the running scripts, which remove their processes: API servers must not outlive this script.
stop() {
	kill $child $background 2>/dev/null || true
	wait $child $background 2>/dev/null || true
}
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# check runs one script, and stores its output, its exit code and its seconds in files.
check() { # script
	local file=$work/${1##*/} started=$SECONDS code=0
	"$1" >"$file" 2>&1 &
	child=$!
	wait "$child" || code=$?
	child=
	printf '%d %d\n' "$code" $((SECONDS - started)) >"$file.result"
}

failed=()
report() { # script
	local file=$work/${1##*/} code seconds
	read -r code seconds <"$file.result"
	if ((code == 0)); then
		printf 'ok     %4d s\n' "$seconds"
		sed -n 's/^note: /    /p' "$file"
	else
		printf 'FAILED %4d s\n' "$seconds"
		sed 's/^/    /' "$file"
		failed+=("$1")
	fi
}

# This check mostly waits for API servers and managers: it runs beside the others, which need the processors.
chart_check=hack/verify-chart.sh
if ((${#scripts[@]} > 1)) && [[ " ${scripts[*]} " == *" $chart_check "* ]]; then
	(trap 'stop; exit 1' INT TERM && check "$chart_check") &
	background=$!
fi
for script in "${scripts[@]}"; do
	if [[ -z $background || $script != "$chart_check" ]]; then
		printf '%-36s ' "$script"
		check "$script"
		report "$script"
	fi
done
if [[ -n $background ]]; then
	printf '%-36s ' "$chart_check"
	wait "$background" || true
	background=
	report "$chart_check"
fi

if ((${#failed[@]} > 0)); then
	printf '\n%d of %d checks failed:\n' ${#failed[@]} ${#scripts[@]}
	printf '  %s\n' "${failed[@]}"
	exit 1
fi
printf '\nall %d checks passed\n' ${#scripts[@]}
