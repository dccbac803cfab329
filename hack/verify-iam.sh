#!/usr/bin/env bash
# deploy/aws/iam-policy.json is what hack/update-iam.sh writes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

verify_generated deploy/aws/iam-policy.json hack/update-iam.sh IAM_POLICY
