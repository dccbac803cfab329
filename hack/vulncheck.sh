#!/usr/bin/env bash
# govulncheck over every module of the workspace. It asks vuln.go.dev, and what
# it answers changes with the day: no part of verify. The workflow nightly runs it.
#
#   hack/vulncheck.sh
#   hack/vulncheck.sh -db=file:///srv/vulndb   a copy of the database, where vuln.go.dev cannot be reached
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

checker=$(tool govulncheck golang.org/x/vuln/cmd/govulncheck)
failed=0
for module in $(workspace_modules); do
	echo "$module"
	(cd "$module" && "$checker" "$@" ./...) || failed=1
done
exit $failed
