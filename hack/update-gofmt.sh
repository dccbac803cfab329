#!/usr/bin/env bash
# Formats the Go files.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

mapfile -t files < <(go_files)
gofmt -s -w "${files[@]}"
