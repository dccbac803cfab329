#!/usr/bin/env bash
# Prints the tags of a release, one for the repository and one for each module, by which Go finds the module's version.
#
#   hack/release-tags.sh v0.1.0
#   hack/release-tags.sh v0.1.0 | xargs -n1 -I{} git tag --sign {} --message {}
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=${1:?usage: hack/release-tags.sh VERSION}
echo "$version"
workspace_modules | while read -r module; do
	required=$(grep -oE "$module_prefix/[^ ]+ v[^ ]+" "$module/go.mod" | grep -v " $version\$" || true)
	if [[ -n $required ]]; then
		printf '%s/go.mod requires:\n%s\nRun hack/release-prepare.sh %s first.\n' "$module" "$required" "$version" >&2
		exit 1
	fi
	echo "$module/$version"
done
