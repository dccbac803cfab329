#!/usr/bin/env bash
# Builds the container image around a ccm compiled on this machine, with buildah
# (no daemon, no privileges), podman or docker: the first that is installed.
#
#   BASE               base image (gcr.io/distroless/static:nonroot); scratch needs no registry
#   IMAGE              name of the image (unified-ccm); its tag is the version
#   TARGETARCH         amd64, arm64, ... (this machine's)
#   PROVIDERS_EXCLUDE  providers to leave out, a,b
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

base=${BASE:-gcr.io/distroless/static:nonroot}
image=${IMAGE:-unified-ccm}
arch=${TARGETARCH:-$(go env GOARCH)}
version=$(hack/version.sh)
commit=${COMMIT:-$(git rev-parse HEAD 2>/dev/null || echo unknown)}
tag=${version//+/-} # a plus is not allowed in a tag
context=bin/image

# Certificates of this machine: a cloud's API is reached over TLS, and scratch
# has none.
for bundle in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
	[[ -n $bundle && -r $bundle ]] && break
	bundle=""
done
if [[ -z $bundle ]]; then
	echo "image: no CA certificates on this machine; install ca-certificates or set SSL_CERT_FILE" >&2
	exit 1
fi

rm -rf "$context"
mkdir -p "$context"
TARGETARCH=$arch hack/image-build.sh "$context"
cp "$bundle" "$context/ca-certificates.crt"
cp LICENSE NOTICE "$context/"

arguments=(--file Dockerfile --target prebuilt --platform "linux/$arch" --tag "$image:$tag"
	--build-arg "BASE=$base" --build-arg "VERSION=$version" --build-arg "COMMIT=$commit")
# The time of the commit, not of the build: the same commit gives the same digest.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git show -s --format=%ct HEAD 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
if command -v buildah >/dev/null; then
	# chroot: works inside of a container too, and no step of this stage runs anything.
	BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot} buildah build --timestamp "$SOURCE_DATE_EPOCH" "${arguments[@]}" "$context"
elif command -v podman >/dev/null; then
	podman build --timestamp "$SOURCE_DATE_EPOCH" "${arguments[@]}" "$context"
elif command -v docker >/dev/null; then
	docker build --build-arg SOURCE_DATE_EPOCH "${arguments[@]}" "$context"
else
	echo "image: needs buildah, podman or docker; the binary for it is $context/ccm" >&2
	exit 1
fi
echo "built $image:$tag for linux/$arch on $base"
