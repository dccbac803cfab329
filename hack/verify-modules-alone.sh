#!/usr/bin/env bash
# Every module of the workspace builds and vets with GOWORK=off: its go.mod names
# all that it uses, with versions that do not depend on those of other modules.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

failed=0
for module in $(workspace_modules); do
	echo "$module"
	(cd "$module" && GOWORK=off go build ./... && GOWORK=off go vet ./...) || failed=1
done
exit $failed
