#!/usr/bin/env bash
# Writes docs/reference from the definitions in the binary: flags, config keys, annotations, metrics and capabilities of
# every provider, and the tables of disruptive changes in docs/guides. DOCS_DIR and GUIDES_DIR name other folders.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

go run ./cmd/ccm docs --dir "${DOCS_DIR:-docs/reference}" --guides "${GUIDES_DIR:-docs/guides}"
