#!/usr/bin/env bash
# The files of a package have an order: none refers to a file that refers back to it, directly or through others. A
# reader can then start with the file that refers to no other, and data flows one way: intent, desired, diff, apply.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

mapfile -t modules < <(workspace_modules)
(cd hack/architecture && GOWORK=off go build -o "$root/bin/tools/cycles" ./cycles)
bin/tools/cycles "${modules[@]}"
