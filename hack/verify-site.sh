#!/usr/bin/env bash
# The documentation site builds: each page has its place in the navigation, and links between pages, to headings and to
# files of the repository have a target.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
hack/site.sh --main "$site" >/dev/null
# A build without pages would have no broken links either.
for page in index.html search-index.js docs/tutorial.html docs/reference/flags.html deploy/chart/README.html; do
	if [[ ! -s $site/$page ]]; then
		echo "the site has no $page"
		exit 1
	fi
done
