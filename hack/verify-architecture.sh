#!/usr/bin/env bash
# The diagrams in docs/architecture.md show the imports of the code.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

verify_generated docs/architecture.md hack/update-architecture.sh ARCHITECTURE
