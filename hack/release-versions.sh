#!/usr/bin/env bash
# Sets the version at which the modules of this repository require each other. Their replace lines stay, for builds of
# one module in a checkout; a module that imports them does not see these lines.
#
#   hack/release-versions.sh v0.1.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=${1:?usage: hack/release-versions.sh VERSION}
mapfile -t modules < <(workspace_modules)
for module in "${modules[@]}"; do
	edits=()
	for other in "${modules[@]}"; do
		if grep -qE "^(require)?[[:space:]]+$module_prefix/$other v" "$module/go.mod"; then
			edits+=("-require=$module_prefix/$other@$version")
		fi
	done
	((${#edits[@]} == 0)) || go mod edit "${edits[@]}" "$module/go.mod"
done
