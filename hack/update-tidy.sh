#!/usr/bin/env bash
# Tidies go.mod and go.sum of every module.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for module in $(all_modules); do
	(cd "$module" && GOWORK=off go mod tidy)
done
