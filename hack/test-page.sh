#!/usr/bin/env bash
# The page of a comparison in a real Chromium: screenshots at 400, 1,000 and 1,400 pixels, light and dark, every filter,
# the keyboard, screen-reader names, contrast, print. No request leaves the page and nothing is logged.
# Screenshots are in bin/page, for people to see; those of the last make compare, if there is one, in bin/page/run. Not part
# of CI, because it needs a browser.
#
#   hack/test-page.sh [go test flags]
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
	echo "test-page: there is no Chromium; install it, on Debian with: apt-get install chromium" >&2
	exit 1
fi
rm -rf bin/page
mkdir -p bin/page/run
PAGE_OUT=$root/bin/page/page.html go test -count=1 -run '^TestSamplePage$' ./cmd/ccm-lab/internal/compare/page >/dev/null
cd hack/browser
PAGE=$root/bin/page/page.html GOWORK=off go test -count=1 "$@" ./...
if [[ -e $root/bin/comparison/comparison.html ]]; then
	cp "$root/bin/comparison/comparison.html" "$root/bin/page/run/page.html"
	PAGE=$root/bin/page/run/page.html GOWORK=off go test -count=1 -run '^TestScreenshots$' ./...
fi
echo "screenshots: bin/page"
