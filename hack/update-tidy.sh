#!/usr/bin/env bash
# Tidies go.mod and go.sum of every module, those of the workspace at the same
# versions of their dependencies: one binary links one version anyway, and alone or
# together they then compile to the same packages in the build cache.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go work sync
for module in $(all_modules); do
	(cd "$module" && GOWORK=off go mod tidy)
done
