#!/usr/bin/env bash
# Makes the changes of a release commit: the entries of changelog.d in CHANGELOG.md, the version at which the modules
# require each other, and the sizes that the next release is compared with, for which it builds everything into dist.
# Tag the commit when it is on main: hack/release-tags.sh prints the commands.
#
#   hack/release-prepare.sh v0.1.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=${1:?usage: hack/release-prepare.sh VERSION}
release changelog release "$version" "$(date -u +%Y-%m-%d)"
hack/release-versions.sh "$version"
VERSION=$version hack/release.sh dist
cp dist/sizes.txt hack/release/sizes.txt
