#!/usr/bin/env bash
# Builds the image for each architecture with hack/image.sh, on an empty base, and writes one image index of them in the
# OCI format, with buildah.
#
#   hack/image-index.sh FOLDER   FOLDER must not exist
#
#   ARCHITECTURES   "amd64 arm64"
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

out=${1:?usage: hack/image-index.sh FOLDER}
read -ra architectures <<<"${ARCHITECTURES:-amd64 arm64}"
VERSION=$(hack/version.sh)
export VERSION
tag=${VERSION//+/-}
index=unified-ccm-index:$tag
images=()
remove() {
	buildah manifest rm "$index" >/dev/null 2>&1 || true
	buildah rmi --force "${images[@]}" >/dev/null 2>&1 || true
}
trap remove EXIT
remove

for arch in "${architectures[@]}"; do
	images+=("unified-ccm-$arch:$tag")
	BASE=scratch IMAGE=localhost/unified-ccm-$arch TARGETARCH=$arch hack/image.sh
done
buildah manifest create "$index" >/dev/null
for image in "${images[@]}"; do
	buildah manifest add "$index" "containers-storage:localhost/$image" >/dev/null
done
buildah manifest push --all --format oci --quiet "$index" "oci:$out" >/dev/null
release check-index "$out" "${architectures[@]/#/linux/}"
echo "built an index of ${architectures[*]}: $(sed -n 's/.*"digest":"\([^"]*\)".*/\1/p' "$out/index.json")"
