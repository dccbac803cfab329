#!/usr/bin/env bash
# The image builds on an empty base, so that no file comes from a base by accident. Two builds have one digest and at most 35 MB.
# Its binary runs there as the user that the image names, also under the names of the clouds' own managers. Needs
# buildah, which works without a daemon; without it, the check is skipped.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if ! command -v buildah >/dev/null; then
	echo "skipped: no buildah on this machine"
	exit 0
fi

image=unified-ccm-verify
export BUILDAH_ISOLATION=chroot COMMIT VERSION=v0.0.0-verify
COMMIT=$(git rev-parse HEAD)
container=""
work=$(mktemp -d)
remove() {
	rm -rf "$work"
	[[ -z $container ]] || buildah rm "$container" >/dev/null
	buildah rmi --force "$image:$VERSION" >/dev/null 2>&1 || true
}
trap remove EXIT

digests=()
for build in 1 2; do
	BASE=scratch IMAGE=$image hack/image.sh
	buildah push --format oci --digestfile "$work/digest" "$image:$VERSION" "oci:$work/$build" >/dev/null 2>&1
	digests+=("$(<"$work/digest")")
	sleep 1 # another time of day
done
if [[ ${digests[0]} != "${digests[1]}" ]]; then
	printf 'two builds of one commit differ:\n%s\n%s\n' "${digests[@]}"
	exit 1
fi
megabytes=$(($(du -sb "$work/1/blobs" | cut -f1) / 1000000))
echo "note: the compressed image has $megabytes MB"
if ((megabytes > 35)); then
	echo "the compressed image has $megabytes MB, more than 35"
	exit 1
fi
container=$(buildah from "$image:$VERSION")

user=$(buildah inspect --type image --format '{{.OCIv1.Config.User}}' "$image:$VERSION")
if [[ $user != 65532:65532 ]]; then
	echo "the image runs as \"$user\" and not as 65532:65532"
	exit 1
fi
answer=$(buildah run "$container" -- /ccm version)
printf '%s\n' "$answer"
if [[ $answer != *"$VERSION"* || $answer != *"${COMMIT:0:12}"* ]]; then
	echo "the binary in the image does not report $VERSION and commit ${COMMIT:0:12}"
	exit 1
fi

# In the manifests of a cloud's own manager, only the image changes.
for name in $(providers); do
	answer=$(buildah run "$container" -- "/bin/$name-cloud-controller-manager" --cloud-config=/missing 2>&1 || true)
	if [[ $answer == *cloud-provider* ]]; then
		printf '/bin/%s-cloud-controller-manager does not select the provider:\n%s\n' "$name" "$answer"
		exit 1
	fi
done
