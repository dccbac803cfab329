#!/usr/bin/env bash
# Writes the custom roles of the GCE provider's service account to deploy/gce.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for role in project network; do
	go run ./providers/gce/internal/role "$role" >"deploy/gce/role-$role.yaml"
done
