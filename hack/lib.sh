# Sourced by every script in hack/: the root of the repository, its modules, and
# the pinned tools. go.work and the file tree are the only sources, so that
# nothing is listed twice.
# shellcheck shell=bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Go keeps its caches below it. Containers may run without the variable; the shell then finds the folder.
export HOME=${HOME-~}

# git refuses to read the checkout of another user, which is common in containers.
if [[ -z ${GIT_CONFIG_COUNT:-} ]] && ! git rev-parse HEAD >/dev/null 2>&1; then
	export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$root
fi

# The workspace of this checkout: make and a caller in another checkout export theirs.
export GOWORK=$root/go.work

module_prefix=github.com/unified-ccm/unified-ccm

# Without gRPC's trace pages nothing in ccm calls methods by name, and the linker drops all that are unused:
# half of the binary. hack/verify-binary-size.sh fails when that changes.
build_tags=grpcnotrace

# The same flags in every build share one build cache: without them linting,
# vetting and building would each compile Kubernetes' libraries again.
# The SDKs of the clouds are a megabyte smaller without inlining; they wait for the network anyway.
export GOFLAGS="-trimpath -buildvcs=false -tags=$build_tags"
GOFLAGS+=" -gcflags=github.com/aws/...=-l -gcflags=github.com/gophercloud/...=-l"
export CGO_ENABLED=0

# workspace_modules prints the folders of go.work: cmd, pkg/common, providers/..., providers/.../sim
workspace_modules() {
	go work edit -json go.work | sed -n 's|.*"DiskPath": "\./\(.*\)".*|\1|p'
}

# test_modules prints the modules of the workspace that only tests and ccm-lab import: the simulators
# and the conformance suite.
test_modules() {
	workspace_modules | grep -E '/(sim|conformance)$'
}

# all_modules prints every folder with a go.mod, hack's own ones too.
all_modules() {
	git ls-files --cached --others --exclude-standard -- 'go.mod' '*/go.mod' | xargs -n1 dirname | sort
}

# providers prints the providers that the binary can link, one name per line.
# Their names are those of the build tags exclude_<name>.
providers() {
	local names
	names=$(grep -hoE '^//go:build .*' cmd/ccm/*.go | grep -oE '!exclude_[a-z0-9]+' | sort -u | sed 's/^!exclude_//')
	if [[ -z $names ]]; then
		echo "hack: no file in cmd/ccm has a build tag !exclude_<name>, so no provider can be linked" >&2
		return 1
	fi
	printf '%s\n' "$names"
}

# go_files prints the Go files of the repository, new ones included.
go_files() {
	git ls-files --cached --others --exclude-standard -- '*.go' | while IFS= read -r file; do
		[[ ! -e $file ]] || printf '%s\n' "$file"
	done
}

# documentation_pages prints the hand-written pages of the site.
documentation_pages() {
	git ls-files --cached --others --exclude-standard -- README.md CONTRIBUTING.md SECURITY.md 'docs/*.md' 'deploy/*.md' \
		'examples/*.md' ':!docs/reference/*'
	git ls-files -- docs/reference/releases.md
}

# tool builds a pinned tool into bin/tools when its pin changed, and prints its path. The pin is in the module FOLDER,
# which is hack/tools by default.
tool() { # name package [folder]
	local out=$root/bin/tools/$1 folder=${3:-hack/tools} key
	key=$(cat "$folder/go.mod" "$folder/go.sum" | git hash-object --stdin)
	if [[ ! -x $out || ! -f $out.key || $(<"$out.key") != "$key" ]]; then
		echo "building $1 (once)" >&2
		mkdir -p bin/tools
		# A first build fetches hundreds of modules, which nobody reads.
		(cd "$folder" && GOWORK=off go build -o "$out" "$2" 2>&1) | sed '/^go: downloading /d' >&2
		printf '%s\n' "$key" >"$out.key"
	fi
	printf '%s\n' "$out"
}

# helm builds the pinned Helm of a major version and prints its path.
helm() { # major version
	tool "helm$1" "helm.sh/helm/v$1/cmd/helm" hack/chart
}

# release builds and runs the program of hack/release.
release() {
	(cd hack/release && GOWORK=off go build -o "$root/bin/tools/release" .)
	bin/tools/release "$@"
}

# verify_generated fails if a file differs from the one that its update script writes. The script writes to the path in
# the variable.
verify_generated() { # file script variable
	generated=$(mktemp)
	trap 'rm -f "$generated"' EXIT
	cp "$1" "$generated"
	env "$3=$generated" "$2"
	if ! diff -u "$1" "$generated"; then
		echo "$1 is not up to date: run $2 (or make generate)" >&2
		return 1
	fi
}
