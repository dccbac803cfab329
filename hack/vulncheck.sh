#!/usr/bin/env bash
# govulncheck over every module of the workspace. It queries vuln.go.dev, and the
# answers change from day to day: the workflow nightly runs it, and verify does not.
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
