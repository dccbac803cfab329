#!/usr/bin/env bash
# Runs the tests of every module of the workspace, most of them under the race detector.
#
#   hack/test.sh all|unit|faults|e2e [go test flags]
#
# Unit tests come first and alone: end-to-end tests run whole control planes,
# and on a small machine both would only slow each other down.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

suite=${1:?usage: hack/test.sh all|unit|faults|e2e [go test flags]}
shift

# Tests are built with the flags of hack/lib.sh, so that those without the race detector share the build cache with
# `make build`. The race detector is the one thing here that needs cgo.
if [[ $suite != faults && $suite != e2e ]] && ! command -v "$(go env CC)" >/dev/null; then
	echo "test: the race detector needs a C compiler and there is no $(go env CC): install gcc or clang, or set CC" >&2
	exit 1
fi

mapfile -t patterns < <(workspace_modules | sed 's|.*|./&/...|')
e2e=$module_prefix/cmd/ccm-lab/e2e

log=$(mktemp)
trap 'rm -f "$log"' EXIT

attempt() { # flags
	go test -vet=off -timeout "$timeout" "$@" "${packages[@]}" | tee "$log" | "${filter[@]}"
}

# crashed reports whether nothing failed but the race detector itself, which does that with testing/synctest
# (golang/go#78156).
crashed() {
	grep -q '^ThreadSanitizer: CHECK failed' "$log" &&
		! grep -qE '^ *--- FAIL|^panic: |^fatal error: |DATA RACE|\[(build|setup) failed\]' "$log"
}

run() { # title timeout packages... -- flags
	local title=$1 timeout=$2 packages=() started=$SECONDS
	shift 2
	while [[ $1 != -- ]]; do packages+=("$1") && shift; done
	shift
	echo "== $title"
	# make verify runs go vet. A second run takes the packages that passed from go test's cache.
	if attempt "$@" || { crashed && echo "== $title: again, since the race detector crashed" && attempt "$@"; }; then
		echo "== $title: ok, $((SECONDS - started)) s"
	else
		failed+=("$title")
		echo "== $title: FAILED after $((SECONDS - started)) s"
	fi
}

# workspace_without_race prints a go.work with a corrected copy of k8s.io/cloud-provider. Its service controller has
# a data race of its own: processServiceCreateOrUpdate writes without a lock what serviceCache.allServices reads.
workspace_without_race() {
	local folder=$root/bin/framework source copy controller
	source=$(go -C cmd list -m -f '{{.Dir}}' k8s.io/cloud-provider)
	copy=$folder/$(basename "$source")
	controller=$copy/controllers/service/controller.go
	if [[ ! -e $copy.done ]]; then
		rm -rf "$folder"
		mkdir -p "$folder"
		cp -R "$source" "$copy"
		chmod -R u+w "$copy"
		sed -i.old 's/cachedService\.state = service$/c.cache.mu.Lock(); &; c.cache.mu.Unlock()/' "$controller"
		if cmp -s "$controller.old" "$controller"; then
			echo "test: $controller no longer has the race: remove workspace_without_race" >&2
			return 1
		fi
		touch "$copy.done"
	fi
	{
		grep '^go ' go.work
		workspace_modules | sed "s|.*|use $root/&|"
		printf 'replace k8s.io/cloud-provider => %s\n' "$copy"
	} >"$folder/go.work"
	cp go.work.sum "$folder/"
	printf '%s\n' "$folder/go.work"
}

# conformance are the tests that run the framework's controllers.
conformance='^Test(Conformance|Faults|RandomLoad|Toy|Mistake|Truthful|Permissions$|AccessRules$|NodesThatJoinDuringCreation'
conformance+='|OptOutLabelSyncsLoadBalancers)'
failed=()
filter=(cat)
if [[ $suite == all || $suite == unit ]]; then
	mapfile -t unit < <(go list "${patterns[@]}" | grep -vE "^$e2e(/|\$)")
	# One workspace for all that is built with the race detector: with two, most packages would be compiled twice.
	export CGO_ENABLED=1
	GOWORK=$(workspace_without_race)
	run "unit tests" 30m "${unit[@]}" -- -race -short -skip "$conformance" "$@"
	# A -run in the arguments replaces the one here. The race detector makes these tests several times slower: the shared
	# code runs under it with the fastest provider, and the code of the others under it in their unit tests.
	run "conformance, under the race detector" 30m ./pkg/common/loadbalancer ./cmd/internal/ccmapp ./providers/fake -- \
		-race -short -run "$conformance" "$@"
	export CGO_ENABLED=0
	GOWORK=$root/go.work
	mapfile -t packages < <(go list "${patterns[@]}" |
		grep -E "^$module_prefix/(pkg/common/conformance|providers/[a-z0-9]+)\$" | grep -v /fake\$)
	run "conformance of the other providers" 30m "${packages[@]}" -- -short -run "$conformance" "$@"
fi
if [[ $suite == all || $suite == faults ]]; then
	# -short interrupts a sample of calls under the race detector. Every call is then
	# interrupted without it, several times faster; the tests above detect races.
	# In every run, only the fastest simulator gets that: the others take minutes each.
	providers=(./providers/fake)
	[[ $suite == all ]] || mapfile -t providers < <(workspace_modules | while read -r module; do
		[[ $module == providers/* ]] && compgen -G "$module/conformance_test.go" >/dev/null && echo "./$module"
	done)
	# -v, because the number of faults is part of the result; a line for each test and
	# what the framework logs about provoked failures are not.
	filter=(grep -vE '^ *(=== |--- PASS|PASS$|[EIW][0-9]{4} )')
	# A scenario that never ends shows its goroutines before CI ends the run.
	limit=120m
	[[ $suite == faults ]] || limit=25m
	run "every fault at every call, and random load" "$limit" "${providers[@]}" -- -v -run '^Test(Faults|RandomLoad)$' "$@"
	# The end-to-end tests have a sample of these.
	[[ $suite == all ]] || EVERY_FAULT=1 run "every fault of one cloud while another one works" 120m "$e2e" -- \
		-count=1 -v -run '^TestFaultsOfOneCloud$' "$@"
	filter=(cat)
fi
if [[ $suite == all || $suite == e2e ]]; then
	# -count=1: go test's cache does not depend on the binaries in bin/, which
	# these tests run. Without the race detector: what they test runs in other processes.
	run "end-to-end tests" 45m "$e2e/..." -- -count=1 "$@"
	if (($# == 0)); then
		started=$SECONDS
		echo "== commands of the documentation"
		hack/e2e-docs.sh || failed+=("commands of the documentation")
		echo "== commands of the documentation: $((SECONDS - started)) s"
	fi
fi
if ((${#failed[@]} > 0)); then
	printf 'FAILED: %s\n' "${failed[@]}" >&2
	exit 1
fi
