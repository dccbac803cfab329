#!/usr/bin/env bash
# The image builds on an empty base, so that no file comes from a base by accident. Two builds have one digest and at most 35 MB.
# Its binary runs there as the user that the image names, also under the names of the clouds' own managers. Needs
# buildah, which works without a daemon; without it, the check is skipped.
#
# The commands of the documentation that build, push and import the image are run: the push to a registry on the loopback,
# and, where containerd is installed and for root, the import.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if ! command -v buildah >/dev/null; then
	echo "skipped: no buildah on this machine"
	exit 0
fi

image=localhost/unified-ccm-verify
export BUILDAH_ISOLATION=chroot COMMIT VERSION=v0.0.0-verify
COMMIT=$(git rev-parse HEAD)
container=""
work=$(mktemp -d)
pids=()
remove() {
	((${#pids[@]} == 0)) || kill -KILL "${pids[@]}" 2>/dev/null || true
	wait 2>/dev/null || true
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

# commands runs the blocks with a mark, in the order of the pages, with files in a folder of their own.
commands() { # mark
	documentation_pages | xargs awk -v cloud="$1" -f hack/docs-commands.awk | sed "s/registry\.example\.com/$registry/g" >"$work/script"
	grep -q '^echo ' "$work/script" || { echo "no page has commands with the mark $1" && return 1; }
	(cd "$root" && MAKEFLAGS="BIN=$work/bin BASE=scratch" bash -euo pipefail <(sed "s|bin/image|$work/bin/image|g" "$work/script"))
}

(cd hack/release && GOWORK=off go build -o "$work/registry" ./registry)
mkdir "$work/bin"
"$work/registry" >"$work/address" 2>/dev/null &
pids+=($!)
until [[ -s $work/address ]]; do sleep 0.1; done
registry=$(<"$work/address")
printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$registry" >"$work/registries.conf"
export CONTAINERS_REGISTRIES_CONF=$work/registries.conf
commands image
for name in "$registry/unified-ccm" localhost/unified-ccm; do buildah rmi --force "$name:$VERSION" >/dev/null; done
curl --silent --fail --output /dev/null "http://$registry/v2/unified-ccm/manifests/$VERSION"
grep -qx "  tag: $VERSION" "$work/bin/image.yaml"

if [[ $(id -u) != 0 ]] || ! command -v containerd ctr >/dev/null; then
	echo "note: the import into containerd was not run: it needs containerd and root"
	exit 0
fi
printf 'version = 2\nroot = "%s"\nstate = "%s"\n[grpc]\n  address = "%s"\n' "$work/root" "$work/state" "$work/containerd.sock" \
	>"$work/containerd.toml"
export CONTAINERD_ADDRESS=$work/containerd.sock
containerd --config "$work/containerd.toml" >"$work/containerd.log" 2>&1 &
pids+=($!)
for _ in {1..100}; do ctr version >/dev/null 2>&1 && break || sleep 0.2; done
commands containerd
ctr --namespace k8s.io images list --quiet | grep -qxF "localhost/unified-ccm:$VERSION"
