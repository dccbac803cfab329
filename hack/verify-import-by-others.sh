#!/usr/bin/env bash
# A program outside of this repository can link a provider by `go get` of its version, without replace lines and without go.work: for
# each provider, a module outside of this repository builds and runs. The modules come from a proxy with all modules of
# this tree at one version, as they are published when a release is tagged; all others from the module cache, as far as
# it has them. Simulators and the conformance suite are not linked.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

mapfile -t providers < <(workspace_modules | grep -E '^providers/[^/]+$')
if ((${#providers[@]} == 0)); then
	echo "go.work names no provider" >&2
	exit 1
fi
test_packages="^$module_prefix/($(test_modules | paste -sd"|"))(/|\$)"
version=v0.0.1-verify

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/sources" "$work/proxy"
git ls-files -z --cached --others --exclude-standard |
	tar --create --null --ignore-failed-read --files-from=- 2>/dev/null | tar --extract --directory "$work/sources"
release changelog check # builds the program
(cd "$work/sources" && hack/release-versions.sh "$version" && "$root/bin/tools/release" proxy "$version" "$work/proxy")

GOPROXY=file://$work/proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)
export GOPROXY GOSUMDB=off GOWORK=off GOMODCACHE=$work/modules GOFLAGS="$GOFLAGS -modcacherw"

# link builds a program that links one provider, in the folder $2, and runs it.
link() {
	local provider=$1
	mkdir "$2"
	cd "$2"
	go mod init example.com/other 2>/dev/null
	cat >main.go <<GO
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
	go get "$module_prefix/$provider@$version"
	go run -mod=mod .
	if grep -n '^replace' go.mod; then
		echo "the module needs a replace line"
		exit 1
	fi
	if go list -mod=mod -deps . | grep -E "$test_packages"; then
		echo "a program that imports $provider compiles these, which only tests need" >&2
		exit 1
	fi
}

for provider in "${providers[@]}"; do
	(link "$provider" "$work/${provider##*/}")
done
