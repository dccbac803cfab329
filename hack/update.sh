#!/usr/bin/env bash
# Runs every hack/update-*.sh: after it, the matching verify scripts pass.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for script in hack/update-*.sh; do
	echo "$script"
	"$script"
done
