#!/usr/bin/env bash
# Every module of the workspace builds and vets with GOWORK=off: its go.mod names
# all that it uses, and it does not lean on a version that a neighbour asks for.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

failed=0
for module in $(workspace_modules); do
	echo "$module"
	(cd "$module" && GOWORK=off go build ./... && GOWORK=off go vet ./...) || failed=1
done
exit $failed
