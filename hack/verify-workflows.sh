#!/usr/bin/env bash
# The definitions in .github/workflows are valid, each action is pinned by its commit with the version behind it, and
# each target of make that they run exists.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

actionlint=$(tool actionlint github.com/rhysd/actionlint/cmd/actionlint hack/release)
"$actionlint" -shellcheck= -pyflakes= .github/workflows/*.yaml

failed=0
if grep -nE '^[[:space:]-]*uses:' .github/workflows/*.yaml | grep -vE 'uses: [^@ ]+@[0-9a-f]{40} # v[0-9.]+$'; then
	echo "pin these actions: uses: OWNER/NAME@COMMIT # vX.Y.Z"
	failed=1
fi
for target in $(sed -nE 's/^ *target: \[(.*)\]$/\1/p' .github/workflows/*.yaml | tr -d ','); do
	if ! grep -q "^$target:" Makefile; then
		echo "a workflow runs make $target, which is not a target of the Makefile"
		failed=1
	fi
done
exit $failed
