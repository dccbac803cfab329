#!/usr/bin/env bash
# Builds the files of a release: an archive and an SBOM (SPDX) of each program on each platform, the chart, the rendered
# manifests, an image for each architecture in one OCI index, and SHA256SUMS of all of them. The same commit gives the
# same files: hack/verify-release.sh compares them.
#
#   hack/release.sh [FOLDER]   FOLDER is dist by default, and is emptied
#
#   VERSION        the version (hack/version.sh)
#   PROGRAMS       "ccm ccm-lab"
#   PLATFORMS      "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64"
#   WITHOUT_IMAGE  1 builds no image; otherwise buildah is needed
#   COMPARISON     the folder of a run of make compare, whose page and result become files of the release; they have times,
#                  so that two runs differ
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=$(hack/version.sh)
version=${version//+/-} # not allowed in the tag of an image
export VERSION=$version
# The time of the commit, not of the build.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git show -s --format=%ct HEAD 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
read -ra programs <<<"${PROGRAMS:-ccm ccm-lab}"
read -ra platforms <<<"${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}"
if [[ -z ${WITHOUT_IMAGE:-} ]] && ! command -v buildah >/dev/null; then
	echo "release: buildah is missing: install it, or set WITHOUT_IMAGE=1" >&2
	exit 1
fi

rm -rf "${1:-dist}"
out=$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# record_size records the size of a file for the comparison with the last release.
record_size() { # name file
	printf '%s %s\n' "$1" "$(wc -c <"$2")" >>"$out/sizes.txt"
}

flags=$(hack/version.sh --ldflags)
for platform in "${platforms[@]}"; do
	for program in "${programs[@]}"; do
		name=${program}_${version}_${platform/\//_}
		echo "building $name"
		mkdir "$stage/$name"
		GOOS=${platform%/*} GOARCH=${platform#*/} go build -ldflags "$flags" -o "$stage/$name/$program" "./cmd/$program"
		cp LICENSE NOTICE "$stage/$name"
		release sbom "$stage/$name/$program" "$version" "$platform" >"$out/$name.spdx.json"
		tar --create --directory "$stage/$name" --sort=name --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' \
			--mtime="@$SOURCE_DATE_EPOCH" --transform 's|^\./||' "$program" LICENSE NOTICE | gzip -n -9 >"$out/$name.tar.gz"
		record_size "${program}_${platform/\//_}" "$stage/$name/$program"
		record_size "${program}_${platform/\//_}.tar.gz" "$out/$name.tar.gz"
		rm -rf "${stage:?}/$name"
	done
done
release check-sbom "$out"/*.spdx.json

echo "packaging the chart"
helm4=$(helm 4)
"$helm4" package deploy/chart --version "${version#v}" --app-version "${version#v}" --destination "$out" >/dev/null
kube_version=$(hack/controlplane/build.sh --versions | sed -n 's/^kubernetes v//p')
for preset in deploy/chart/presets/*.yaml; do
	"$helm4" template unified-ccm "$out/unified-ccm-${version#v}.tgz" --namespace kube-system --kube-version "$kube_version" \
		-f "$preset" --set "clusterName=kubernetes,image.tag=$version" >"$out/unified-ccm-$(basename "$preset")"
done

if [[ -z ${WITHOUT_IMAGE:-} ]]; then
	hack/image-index.sh "$out/image"
	record_size image_amd64_arm64 <(cat "$out"/image/blobs/sha256/*)
	tar --create --directory "$out/image" --sort=name --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' \
		--mtime="@$SOURCE_DATE_EPOCH" --transform 's|^\./||' . >"$out/image_$version.oci.tar"
	rm -rf "$out/image"
fi

# The sizes are compared with those that hack/release-prepare.sh recorded for the last release.
sort -o "$out/sizes.txt" "$out/sizes.txt"
echo "sizes, and those of the last release:"
join -a1 "$out/sizes.txt" <(sort hack/release/sizes.txt) | awk '{
	printf "  %-34s %6.1f MB", $1, $2 / 1e6
	if (NF > 2) printf "  %6.1f MB  %+5.1f%%", $3 / 1e6, ($2 - $3) * 100 / $3
	print ""
}'

if [[ -n ${COMPARISON:-} ]]; then
	for format in html json; do
		cp "$COMPARISON/comparison.$format" "$out/comparison_$version.$format"
	done
fi

(cd "$out" && shopt -s nullglob && sha256sum -- *.tar* *.tgz *.json *.yaml *.html >SHA256SUMS)
echo "built $(wc -l <"$out/SHA256SUMS") files of $version in $out"
