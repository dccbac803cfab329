#!/usr/bin/env bash
# NOTICE lists what the programs link, and each licence is one of those that are allowed.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

verify_generated NOTICE hack/update-notice.sh NOTICE
