#!/usr/bin/env bash
# Builds the container image around a ccm compiled on this machine, with buildah
# (no daemon, no privileges), podman or docker: the first that is installed.
#
#   hack/image.sh [--values=FILE] [--push] [--archive=FILE]
#
#   --values           writes the values of the chart for this image
#   --push             pushes the image to the registry in its name
#   --archive          writes an archive for kind load image-archive and ctr images import
#
#   BASE               base image (gcr.io/distroless/static:nonroot); scratch needs no registry
#   IMAGE              name of the image, with its registry (localhost/unified-ccm); its tag is the version
#   TARGETARCH         amd64, arm64, ... (this machine's)
#   PROVIDERS_EXCLUDE  providers to leave out, a,b
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

base=${BASE:-gcr.io/distroless/static:nonroot}
image=${IMAGE:-localhost/unified-ccm}
values='' push='' archive=''
for argument in "$@"; do
	case $argument in
	--values=*) values=${argument#*=} ;;
	--push) push=1 ;;
	--archive=*) archive=${argument#*=} ;;
	*) echo "image: unknown argument $argument; see the head of $0" >&2 && exit 2 ;;
	esac
done
if [[ $image != */* || ${image%%/*} != *[.:]* && ${image%%/*} != localhost ]]; then
	echo "image: IMAGE=$image names no registry; use one like registry.example.com/unified-ccm or localhost/unified-ccm" >&2
	exit 2
fi
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

if command -v buildah >/dev/null; then
	[[ -z $push ]] || buildah push "$image:$tag"
	[[ -z $archive ]] || { rm -f "$archive" && buildah push --quiet "$image:$tag" "docker-archive:$archive:$image:$tag"; }
else
	tool=docker
	! command -v podman >/dev/null || tool=podman
	[[ -z $push ]] || "$tool" push "$image:$tag"
	[[ -z $archive ]] || { rm -f "$archive" && "$tool" save --output "$archive" "$image:$tag"; }
fi
[[ -z $push ]] || echo "pushed $image:$tag"
[[ -z $archive ]] || echo "wrote ${archive#"$root/"}"
if [[ -n $values ]]; then
	printf 'image:\n  registry: %s\n  repository: %s\n  tag: %s\n' "${image%%/*}" "${image#*/}" "$tag" >"$values"
	echo "wrote ${values#"$root/"}: install the chart with -f ${values#"$root/"}"
fi
