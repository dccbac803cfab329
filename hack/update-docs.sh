#!/usr/bin/env bash
# Writes docs/reference from what the binary itself knows: flags, config keys,
# annotations, metrics and capabilities of every provider. DOCS_DIR writes it elsewhere.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go run ./cmd/ccm docs --dir "${DOCS_DIR:-docs/reference}"
