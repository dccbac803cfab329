#!/usr/bin/env bash
# Redraws the diagrams of packages in docs/architecture.md from the imports of the code.
# ARCHITECTURE names another file to write to.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

file=$(realpath "${ARCHITECTURE:-docs/architecture.md}")
mapfile -t patterns < <(workspace_modules | sed 's|.*|./&/...|')
go list -json=ImportPath,Imports "${patterns[@]}" | (cd hack/architecture && GOWORK=off go run . "$file")
