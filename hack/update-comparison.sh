#!/usr/bin/env bash
# Renders docs/reference/comparison.md from comparison.json, and runs scenarios that are not in it. The measurements are
# tracked, because the other managers run for hours: without them, nobody could render the page again.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go run ./cmd/ccm-lab compare --resume=docs/reference/comparison.json --add-columns=docs/reference/comparison.json \
	--reference=docs/reference -o json >/dev/null
