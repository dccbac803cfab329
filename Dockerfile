# The image of ccm: one static binary, the public CA certificates, nothing else.
#
#   docker build -t unified-ccm .                             compile in the image's own build stage
#   make image                                                compile here, needs no builder image
#   make image BASE=scratch                                   needs no registry at all
#   docker build --build-arg PROVIDERS_EXCLUDE=aws,fake .     leave providers out
#   docker buildx build --platform linux/amd64,linux/arm64 .  both architectures, cross-compiled
#
# BASE may be any image without a shell, scratch included; BUILDER any with Go,
# and with CA certificates at the path of Debian's.
ARG BUILDER=golang:1.26
ARG BASE=gcr.io/distroless/static:nonroot

FROM --platform=${BUILDPLATFORM:-linux/amd64} ${BUILDER} AS build
ARG TARGETOS=linux
ARG TARGETARCH
ARG VERSION=
ARG COMMIT=
ARG PROVIDERS_EXCLUDE=
WORKDIR /src
# All at once and not go.mod files first: the cache mounts keep what was
# downloaded and compiled, and a new provider needs no line here.
COPY . .
ENV GOMODCACHE=/cache/modules GOCACHE=/cache/build
RUN --mount=type=cache,target=/cache hack/image-build.sh /out
RUN cp /etc/ssl/certs/ca-certificates.crt LICENSE NOTICE /out/

# What both ways of building share. 65532 is "nonroot" in distroless; a number,
# because Kubernetes can only check runAsNonRoot against one.
FROM ${BASE} AS base
ARG VERSION=
ARG COMMIT=
LABEL org.opencontainers.image.title="unified-ccm" \
      org.opencontainers.image.description="Kubernetes cloud-controller-manager for several clouds" \
      org.opencontainers.image.source="https://github.com/unified-ccm/unified-ccm" \
      org.opencontainers.image.documentation="https://github.com/unified-ccm/unified-ccm/tree/main/docs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
USER 65532:65532
EXPOSE 10258/tcp
ENTRYPOINT ["/ccm"]

# /bin has the names of the clouds' own managers as links: see the chart's page.
# Used by `make image` with bin/image as its context: see hack/image.sh.
FROM base AS prebuilt
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY LICENSE NOTICE ccm /
COPY bin /bin

FROM base AS image
COPY --from=build /out/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/LICENSE /out/NOTICE /out/ccm /
COPY --from=build /out/bin /bin
