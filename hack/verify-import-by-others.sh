#!/usr/bin/env bash
# Someone else's program can link pkg/common and a provider: a module outside of
# the workspace that knows them only through replace directives builds and runs.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

program=$(mktemp -d)
trap 'rm -rf "$program"' EXIT
export GOWORK=off

{
	printf 'module example.com/other\n\ngo %s\n\n' "$(awk '$1 == "go" { print $2 }' providers/fake/go.mod)"
	for module in pkg/common providers/fake; do
		printf 'require %s/%s v0.0.0\nreplace %s/%s => %s/%s\n' \
			"$module_prefix" "$module" "$module_prefix" "$module" "$root" "$module"
	done
} >"$program/go.mod"

cat >"$program/main.go" <<'GO'
package main

import (
	"fmt"
	"os"
	"strings"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

func main() {
	descriptor, known := provider.Get(fake.ProviderName)
	if !known || !cloudprovider.IsCloudProvider(fake.ProviderName) {
		fmt.Fprintln(os.Stderr, "importing providers/fake did not register it")
		os.Exit(1)
	}
	if strings.TrimSpace(descriptor.Title) == "" {
		fmt.Fprintln(os.Stderr, "the descriptor of providers/fake has no title")
		os.Exit(1)
	}
	fmt.Println(descriptor.Name, descriptor.Title)
}
GO

cd "$program"
# Only what this repository's own go.sum files name is looked up: same versions,
# nothing new to download.
cat "$root"/pkg/common/go.sum "$root"/providers/fake/go.sum | sort -u >go.sum
go mod tidy
go run .
