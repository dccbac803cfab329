#!/usr/bin/env bash
# deploy/openstack/access-rules.json is what hack/update-access-rules.sh writes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

verify_generated deploy/openstack/access-rules.json hack/update-access-rules.sh ACCESS_RULES
