#!/usr/bin/env bash
# Unit tests do not sleep, except in the bubble of testing/synctest, which has a fake clock: a condition that the linter,
# which forbids time.Sleep elsewhere, cannot read. Tests of whole processes, cmd/ccm-lab/e2e, poll with a deadline instead.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

failed=0
while IFS= read -r file; do
	if [[ -e $file ]] && ! grep -q '"testing/synctest"' "$file"; then
		grep -nH 'time\.Sleep(' "$file"
		failed=1
	fi
done < <(git grep -lF --untracked 'time.Sleep(' -- '*_test.go' || true)
if ((failed)); then
	echo "these sleep in real time: use an injected clock, or testing/synctest"
fi
exit $failed
