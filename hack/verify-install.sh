#!/usr/bin/env bash
# The commands by which users install and upgrade the chart work: hack/e2e-docs.sh runs those of these pages. Those that build
# and push the image are run by hack/verify-image.sh; all other pages are run by make test.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

hack/e2e-docs.sh README.md docs/guides/{install,kind,upgrade,distributions}.md deploy/README.md deploy/chart/README.md
