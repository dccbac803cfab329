# unified-ccm. `make` without a target lists all targets.
#
# Only Go, git, make and a C compiler (for the race detector) are needed:
# everything else, Kubernetes itself included, is built from pinned Go modules.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# What users may set. Each is explained by `make help`.
PROVIDER ?=
NODES ?=
ONCE ?=
ARGS ?=
RUN ?=
FUZZTIME ?= 1m
KUBERNETES ?=
PROVIDERS_EXCLUDE ?=
BASE ?= gcr.io/distroless/static:nonroot
IMAGE ?= localhost/unified-ccm

BIN := $(CURDIR)/bin

# Go keeps its caches below it. Containers may run without the variable.
ifndef HOME
export HOME := $(shell echo ~)
endif

# One set of flags for every build, so that all of them share one build cache.
# hack/lib.sh has the same flags, with the reasons.
BUILD_TAGS := grpcnotrace
export GOFLAGS := -trimpath -buildvcs=false -tags=$(BUILD_TAGS) -gcflags=github.com/aws/...=-l -gcflags=github.com/gophercloud/...=-l
export GOWORK := $(CURDIR)/go.work
export CGO_ENABLED := 0

comma := ,
empty :=
space := $(empty) $(empty)
TAGS := $(subst $(space),$(comma),$(strip $(BUILD_TAGS) $(patsubst %,exclude_%,$(subst $(comma),$(space),$(PROVIDERS_EXCLUDE)))))
TEST_FLAGS = $(if $(RUN),-run '$(RUN)') $(ARGS)

##@ Start here

.PHONY: help
help: ## Show this page
	@awk -f hack/help.awk $(MAKEFILE_LIST)

.PHONY: run
run: build apiserver ## A whole cluster on this machine, with a simulated cloud (Ctrl-C cleans up)
	@$(BIN)/ccm-lab run $(if $(PROVIDER),--provider=$(PROVIDER)) $(if $(NODES),--nodes=$(NODES)) $(if $(filter-out 0 false no,$(ONCE)),--once) $(ARGS)

.PHONY: build
build: ## bin/ccm and bin/ccm-lab, static, with the version of this checkout
	@mkdir -p $(BIN)
	@[[ -e $(BIN)/ccm-lab ]] || echo "building bin/ccm and bin/ccm-lab (about 3 minutes on 2 cores; only the first time)"
	@flags=$$(hack/version.sh --ldflags); go build -tags '$(TAGS)' -ldflags "$$flags" -o $(BIN)/ ./cmd/ccm ./cmd/ccm-lab
	@echo "built bin/ccm and bin/ccm-lab $$(hack/version.sh)"

##@ Test

.PHONY: test
test: build apiserver ## Every test of every module, end-to-end ones last
	@hack/test.sh all $(TEST_FLAGS)

.PHONY: test-unit
test-unit: ## The same without the end-to-end tests: no control plane needed
	@hack/test.sh unit $(TEST_FLAGS)

.PHONY: test-faults
test-faults: build apiserver ## Every provider, interrupted at every single call to its cloud, and under random load
	@hack/test.sh faults $(TEST_FLAGS)

.PHONY: fuzz
fuzz: ## Every fuzz target for FUZZTIME (1m)
	@FUZZTIME='$(FUZZTIME)' hack/fuzz.sh $(if $(RUN),'$(RUN)')

.PHONY: e2e
e2e: build apiserver ## Only the end-to-end tests, against a real kube-apiserver
	@hack/test.sh e2e $(TEST_FLAGS)

.PHONY: e2e-chart
e2e-chart: ## Helm 3 installs the chart with each preset on a real API server, ccm works under its account, and Helm 4 upgrades it
	@HELM3=1 hack/verify-chart.sh $(ARGS)

.PHONY: e2e-kubernetes
e2e-kubernetes: build ## The end-to-end tests on the API server of another Kubernetes, KUBERNETES=1.36
	@hack/e2e-kubernetes.sh '$(KUBERNETES)' $(TEST_FLAGS)

.PHONY: e2e-docs
e2e-docs: ## The commands of the documentation, on a real API server and each simulated cloud
	@hack/e2e-docs.sh $(ARGS)

.PHONY: e2e-node
e2e-node: ## The chart's pods on real kubelets with containerd, each preset against its simulator (Debian 12 and root; minutes)
	@hack/e2e-node.sh $(if $(RUN),-test.run '$(RUN)') $(ARGS)

.PHONY: e2e-openstack
e2e-openstack: build apiserver ## The conformance list on real OpenStack services (Debian 12 and root; minutes), not part of CI
	@hack/e2e-openstack.sh $(ARGS)

.PHONY: test-page
test-page: ## The page of a comparison in a real Chromium, with screenshots in bin/page; not part of CI
	@hack/test-page.sh $(ARGS)

.PHONY: bench
bench: build apiserver ## Calls, seconds, CPU and memory at 1,000 nodes and 200 Services
	@$(BIN)/ccm-lab bench $(if $(PROVIDER),--provider=$(PROVIDER)) $(ARGS)

.PHONY: bench-large
bench-large: build apiserver ## The same at 5,000 nodes and 500 Services, on each cloud or on PROVIDER; fails above a budget of calls
	@source hack/lib.sh; failed=""; for provider in $(or $(PROVIDER),$$(providers)); do \
		$(BIN)/ccm-lab bench --provider=$$provider --nodes=5000 --services=500 $(ARGS) || failed+=" $$provider"; \
	done; [[ -z $$failed ]] || { echo "bench-large: failed on$$failed" >&2; exit 1; }

.PHONY: compare
compare: build apiserver ## What each cloud does, observed: bin/comparison, and docs/reference/comparison.* without timings
	@$(BIN)/ccm-lab compare --out=$(BIN)/comparison --reference=docs/reference --add-columns=docs/reference/comparison.json $(if $(PROVIDER),--provider=$(PROVIDER)) $(ARGS)

.PHONY: sim-clients
sim-clients: ## The command lines of clouds and other clients against their simulators, every operation, and AWS' answers against its documentation
	@for clients in hack/sim-clients*.sh; do "$$clients"; done

.PHONY: test-tags
test-tags: ## Each provider builds and is listed alone, the others excluded by build tags
	@hack/verify-tags.sh

##@ Check

.PHONY: verify
verify: ## Everything that CI checks besides the tests; lists all failures at the end
	@hack/verify.sh

.PHONY: lint
lint: ## golangci-lint, pinned, in every module
	@hack/verify-lint.sh

.PHONY: generate
generate: ## Bring everything generated up to date: formatting, go.sum, reference docs
	@hack/update.sh

.PHONY: vulncheck
vulncheck: ## Known vulnerabilities in what is linked (asks vuln.go.dev, so not part of CI)
	@hack/vulncheck.sh $(ARGS)

##@ Ship

.PHONY: image
image: ## The container image with buildah, podman or docker, and bin/image.yaml, the values of the chart for it; BASE=scratch needs no registry
	@BASE='$(BASE)' IMAGE='$(IMAGE)' PROVIDERS_EXCLUDE='$(PROVIDERS_EXCLUDE)' hack/image.sh --values=$(BIN)/image.yaml

.PHONY: image-push
image-push: ## The same, and push it to the registry of IMAGE, such as IMAGE=registry.example.com/unified-ccm
	@BASE='$(BASE)' IMAGE='$(IMAGE)' PROVIDERS_EXCLUDE='$(PROVIDERS_EXCLUDE)' hack/image.sh --values=$(BIN)/image.yaml --push

.PHONY: image-archive
image-archive: ## The same, and bin/image.tar for `kind load image-archive` and `ctr images import`
	@BASE='$(BASE)' IMAGE='$(IMAGE)' PROVIDERS_EXCLUDE='$(PROVIDERS_EXCLUDE)' hack/image.sh --values=$(BIN)/image.yaml --archive=$(BIN)/image.tar

.PHONY: release-snapshot
release-snapshot: ## The files of a release in dist/: archives, SBOMs, chart, manifests, image index, checksums
	@hack/release.sh dist

.PHONY: release-check
release-check: ## Builds a release twice, once with an empty build cache, and compares the digests (tens of minutes)
	@hack/verify-release.sh full

.PHONY: site
site: $(BIN)/comparison/comparison.html ## The documentation site in bin/site, with a folder for each released version and the last make compare
	@hack/site.sh

# Runs every scenario once: about 13 minutes on 2 cores.
$(BIN)/comparison/comparison.html:
	@$(MAKE) compare

.PHONY: apiserver
apiserver: ## etcd and kube-apiserver into bin/, from source: all that run, test and bench need
	@hack/controlplane/build.sh etcd kube-apiserver

.PHONY: controlplane
controlplane: ## The same, and kube-controller-manager and kubectl
	@hack/controlplane/build.sh

.PHONY: clean
clean: ## Remove bin/ and dist/ (the control plane too: building it again takes minutes)
	rm -rf $(BIN) dist

##@ Variables
## PROVIDER=NAME         run, bench: the cloud to simulate (default fake; bench-large: each)
## NODES=N               run: how many demo nodes join (default 3)
## ONCE=1                run: print the final tables and exit, 1 when not reached
## RUN=REGEXP            test, test-unit, test-faults, e2e, e2e-node: only tests whose name matches
## FUZZTIME=TIME         fuzz: how long each target runs (default 1m)
## KUBERNETES=1.36       e2e-kubernetes: a minor version, or a release like v1.36.3
## ARGS='...'            run, bench, test: passed on as they are
## IMAGE=REPOSITORY      image, image-push, image-archive: the name of the image (default localhost/unified-ccm)
## TARGETARCH=amd64      the same: the architecture of the nodes (default that of this machine)
## BASE=IMAGE            the same: its base (default distroless; scratch needs no registry)
## PROVIDERS_EXCLUDE=a,b build, image: providers to leave out
## KUBEBUILDER_ASSETS=DIR
##                       use the control plane in DIR and build none
