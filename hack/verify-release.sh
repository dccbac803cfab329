#!/usr/bin/env bash
# A release is reproducible: the same sources in two folders give the same files. The fragments of the changelog are
# well-formed, SBOMs valid, and the program that writes them is tested.
#
#   hack/verify-release.sh        ccm for this machine, from one build cache: fast enough for CI
#   hack/verify-release.sh full   every program, platform and image, the second time with an empty build cache
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

release changelog check
# -count=1: go test does not see that files outside of the module change.
(cd hack/release && GOWORK=off go test -count=1 ./...)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The copies have no .git: these variables replace what a build reads from it.
VERSION=$(hack/version.sh)
COMMIT=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git show -s --format=%ct HEAD)
export VERSION COMMIT SOURCE_DATE_EPOCH
if [[ ${1:-} != full ]]; then
	export PROGRAMS=ccm WITHOUT_IMAGE=1
	PLATFORMS=$(go env GOOS)/$(go env GOARCH)
	export PLATFORMS
fi

tools=$root/bin/tools
helm 4 >/dev/null
for build in first second; do
	mkdir -p "$work/$build/sources/bin"
	git ls-files -z --cached --others --exclude-standard |
		tar --create --null --ignore-failed-read --files-from=- 2>/dev/null | tar --extract --directory "$work/$build/sources"
	ln -s "$tools" "$work/$build/sources/bin/tools"
	if [[ ${1:-} == full && $build == second ]]; then
		export GOCACHE=$work/cache
	fi
	"$work/$build/sources/hack/release.sh" "$work/$build/dist"
	sleep 1 # another time of day
done

if ! diff "$work"/{first,second}/dist/SHA256SUMS; then
	echo "two builds of one commit differ"
	exit 1
fi
echo "note: $(wc -l <"$work/first/dist/SHA256SUMS") files, equal in two builds"
join -a1 "$work/first/dist/sizes.txt" <(sort hack/release/sizes.txt) | awk '{
	printf "note: %s %.1f MB", $1, $2 / 1e6
	if (NF > 2) printf "; the last release: %.1f MB", $3 / 1e6
	print ""
}'
