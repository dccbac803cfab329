#!/usr/bin/env bash
# Someone else's program can link pkg/common and a provider: for each provider of the workspace, a
# module outside of it that knows only these two builds and runs. Simulators and the conformance suite
# are not needed for that: nothing tells that module where they are, and their versions are published nowhere.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

program=$(mktemp -d)
trap 'rm -rf "$program"' EXIT
mapfile -t providers < <(workspace_modules | grep -E '^providers/[^/]+$')
if ((${#providers[@]} == 0)); then
	echo "go.work names no provider" >&2
	exit 1
fi
test_packages="^$module_prefix/($(test_modules | paste -sd"|"))(/|\$)"
export GOWORK=off

# link makes a program that links one provider, in the folder $2, and runs it.
link() {
	local provider=$1 folder=$2 module
	mkdir "$folder"
	{
		printf 'module example.com/other\n\ngo %s\n\n' "$(awk '$1 == "go" { print $2 }' "$provider/go.mod")"
		for module in pkg/common "$provider"; do
			printf 'require %s/%s v0.0.0\nreplace %s/%s => %s/%s\n' \
				"$module_prefix" "$module" "$module_prefix" "$module" "$root" "$module"
		done
	} >"$folder/go.mod"

	cat >"$folder/main.go" <<GO
package main

import (
	"fmt"
	"os"
	"strings"

	cloudprovider "k8s.io/cloud-provider"

	"$module_prefix/pkg/common/provider"
	linked "$module_prefix/$provider"
)

func main() {
	descriptor, known := provider.Get(linked.ProviderName)
	if !known || !cloudprovider.IsCloudProvider(linked.ProviderName) {
		fmt.Fprintln(os.Stderr, "importing $provider did not register it")
		os.Exit(1)
	}
	if strings.TrimSpace(descriptor.Title) == "" {
		fmt.Fprintln(os.Stderr, "the descriptor of $provider has no title")
		os.Exit(1)
	}
	fmt.Println(descriptor.Name, descriptor.Title)
}
GO
	# Only what this repository's own go.sum files name is looked up: same versions, nothing new
	# to download. No `go mod tidy`: that resolves what the tests of imported packages import too.
	cat pkg/common/go.sum "$provider/go.sum" | sort -u >"$folder/go.sum"
	(
		cd "$folder"
		go run -mod=mod .
		if go list -mod=mod -deps . | grep -E "$test_packages"; then
			echo "a program that imports $provider compiles these, which only tests need" >&2
			exit 1
		fi
	)
}

for provider in "${providers[@]}"; do
	link "$provider" "$program/${provider##*/}"
done
