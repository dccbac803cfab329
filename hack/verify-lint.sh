#!/usr/bin/env bash
# golangci-lint in every module of the workspace, all findings of all modules.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

linter=$(tool golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint)
"$linter" config verify --config "$root/.golangci.yaml"

failed=0
for module in $(workspace_modules); do
	echo "$module"
	(cd "$module" && "$linter" run --config "$root/.golangci.yaml" "$@" ./...) || failed=1
done
exit $failed
