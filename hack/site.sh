#!/usr/bin/env bash
# Builds the documentation site from the Markdown files of the repository: the checkout as version main, and each release
# (a tag v1.2.3 that has a site) in a folder of its name. Broken links between pages, to headings and to files of the
# repository fail the build. The page of `make compare` with the evidence of each cell is a part of version main; releases
# have theirs among their files.
#
#   hack/site.sh            into bin/site
#   hack/site.sh FOLDER     into FOLDER
#   hack/site.sh --main     into bin/site, without the releases and the evidence
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

hugo=$(tool hugo github.com/gohugoio/hugo hack/site)
versions=main
evidence=''
if [[ ${1:-} == --main ]]; then
	shift
else
	evidence=bin/comparison/comparison.html
	if [[ ! -s $evidence ]]; then
		echo "site: $evidence is missing: run make compare" >&2
		exit 1
	fi
	for tag in $(git tag --list 'v[0-9]*' --sort=-version:refname); do
		if git cat-file -e "$tag:hack/site/hugo.yaml" 2>/dev/null; then versions+=" $tag"; fi
	done
fi
out=$(mkdir -p "${1:-bin/site}" && cd "${1:-bin/site}" && pwd)

build() { # source destination version
	HUGO_PARAMS_VERSION=$3 HUGO_PARAMS_VERSIONS=$versions HUGO_PARAMS_EVIDENCE=$4 "$hugo" --source "$1" --config hack/site/hugo.yaml \
		--noBuildLock --cleanDestinationDir --panicOnWarning --quiet --destination "$2"
}

build "$root" "$out" main "${evidence:+comparison-evidence.html}"
[[ -z $evidence ]] || cp "$evidence" "$out/docs/reference/comparison-evidence.html"
work=$(mktemp -d)
trap 'rm -rf "$work"; git worktree prune' EXIT
for tag in ${versions#main}; do
	git worktree add --quiet --detach "$work/$tag" "$tag"
	build "$work/$tag" "$out/$tag" "$tag" ''
done
echo "${out#"$root/"}/index.html"
