#!/usr/bin/env bash
# Each shell block of the documentation is run by hack/e2e-docs.sh or hack/verify-image.sh (marks image and containerd), or
# names the reason why it cannot be.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

documentation_pages | xargs awk -v clouds="$(providers | paste -sd"|")|image|containerd" -f hack/docs-commands.awk
