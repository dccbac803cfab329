#!/usr/bin/env bash
# docs/reference/comparison.* has a row for each scenario and a column for each linked cloud, and all formats show the
# same. Running the scenarios again takes minutes: make compare does.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go run ./cmd/ccm-lab compare --check-reference=docs/reference
