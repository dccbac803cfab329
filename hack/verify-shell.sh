#!/usr/bin/env bash
# Shell scripts parse and have no findings of shellcheck (.shellcheckrc), and all but sourced ones are executable.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

failed=0
while IFS= read -r script; do
	[[ -e $script ]] || continue
	bash -n "$script" || failed=1
	if [[ $script != hack/lib*.sh && ! -x $script ]]; then
		echo "$script is not executable"
		failed=1
	fi
done < <(git ls-files --cached --others --exclude-standard -- '*.sh' .ci/run)
if command -v shellcheck >/dev/null; then
	git ls-files -z --cached --others --exclude-standard -- '*.sh' .ci/run | xargs -0 shellcheck --severity=warning || failed=1
else
	echo "note: there is no shellcheck; install it, on Debian with: apt-get install shellcheck"
fi
exit $failed
