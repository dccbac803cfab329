#!/usr/bin/env bash
# The page of a comparison in a real Chromium: screenshots at 400, 1,000 and 1,600 pixels, light and dark, every filter,
# the keyboard, screen-reader names, contrast, print. No request leaves the page and nothing is logged.
# Screenshots are in bin/page, for people to see. Not part of CI, because it needs a browser.
#
#   hack/test-page.sh [go test flags]
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
	echo "test-page: there is no Chromium; install it, on Debian with: apt-get install chromium" >&2
	exit 1
fi
mkdir -p bin/page
rm -f bin/page/*.png
PAGE_OUT=$root/bin/page/page.html go test -count=1 -run '^TestSamplePage$' ./cmd/ccm-lab/internal/compare/page >/dev/null
cd hack/browser
PAGE=$root/bin/page/page.html GOWORK=off go test -count=1 "$@" ./...
echo "screenshots: bin/page/*.png"
