#!/usr/bin/env bash
# govulncheck over every module of the workspace. It asks vuln.go.dev, and what
# it answers changes with the day: no part of verify.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

checker=$(tool govulncheck golang.org/x/vuln/cmd/govulncheck)
failed=0
for module in $(workspace_modules); do
	echo "$module"
	(cd "$module" && "$checker" "$@" ./...) || failed=1
done
exit $failed
