#!/usr/bin/env bash
# Prints the version of this checkout. It is always a semantic version, because the
# Kubernetes libraries parse the version in a binary and panic on anything else.
#
#   hack/version.sh            v0.3.0, or v0.3.0-5-g1a2b3c4, or v0.0.0-dev+1a2b3c4
#   hack/version.sh --ldflags  the linker flags that stamp it into a binary
#
# VERSION and COMMIT override git: an image is built from a context without .git.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

commit=${COMMIT:-$(git rev-parse HEAD 2>/dev/null || echo unknown)}
state=clean
date=1970-01-01T00:00:00Z
if git rev-parse HEAD >/dev/null 2>&1; then
	[[ -z $(git status --porcelain 2>/dev/null) ]] || state=dirty
	# The date of the commit and not of the build: the same commit gives the same bytes.
	date=$(TZ=UTC git show -s --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ HEAD)
fi
version=${VERSION:-$(git describe --tags --match 'v[0-9]*' 2>/dev/null || echo "v0.0.0-dev+${commit:0:12}")}
if [[ ! $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+([-+].+)?$ ]]; then
	echo "version: VERSION=$version is not a semantic version; use one like v0.3.0, or unset it" >&2
	exit 1
fi

if [[ ${1:-} != --ldflags ]]; then
	printf '%s\n' "$version"
	exit 0
fi

number=${version#v}
number=${number%%[-+]*}
flags="-s -w"
# --version, /version and the build_info metric report the first, the user agent in
# the API server's audit log the second.
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
	flags+=" -X $package.gitVersion=$version -X $package.gitCommit=$commit"
	flags+=" -X $package.gitTreeState=$state -X $package.buildDate=$date"
	flags+=" -X $package.gitMajor=$(cut -d. -f1 <<<"$number") -X $package.gitMinor=$(cut -d. -f2 <<<"$number")"
done
printf '%s\n' "$flags"
