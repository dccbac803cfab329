#!/usr/bin/env bash
# Writes the changes of a release commit: the entries of changelog.d in CHANGELOG.md, the version at which the modules
# require each other, and the sizes and start-up times that the next release is compared with, for which it builds
# everything into dist and installs the chart with each preset.
# Tag the commit when it is on main: hack/release-tags.sh prints the commands.
#
#   hack/release-prepare.sh v0.1.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=${1:?usage: hack/release-prepare.sh VERSION}
release changelog release "$version" "$(date -u +%Y-%m-%d)"
hack/release-versions.sh "$version"
VERSION=$version hack/release.sh dist
cp dist/sizes.txt hack/release/sizes.txt
starts=$(mktemp)
trap 'rm -f "$starts"' EXIT
STARTS=$starts hack/verify-chart.sh
cat "$starts" >hack/release/starts.txt
