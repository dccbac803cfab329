#!/usr/bin/env bash
# ccm is at most 18.7 MB larger than a binary that links Kubernetes' cloud-controller-manager framework and
# no cloud: 7.1 MB for aws, 2.2 MB for openstack, 1.5 MB for vsphere with NSX-T, 1.7 MB for gce, 1.1 MB for fake, and the
# rest for traces, the audit, the conversion of charts, 0.1 MB for node IPAM, 0.4 MB for what is checked before replacements
# and restored after refused ones, and 0.3 MB for several clouds in one process. Both are built here, with the flags of a
# release.
#
# "Framework" is k8s.io/cloud-provider/app with its default controllers, run by component-base.
#
# What usually breaks it: a dependency that calls methods by names computed at run time (reflect.Value.Method,
# text/template, html/template). The linker then keeps every method of every reachable type, whole SDKs included.
# To find the dependency: go build -ldflags=-dumpdep ./cmd/ccm 2>&1 | grep ReflectMethod
# What adds up: generic code is compiled for each type of struct, and once for all pointers: take pointers as type
# arguments (as package rows does), or keep what does not depend on the type in functions
# without type parameters, and sort with package sorting.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

limit=18700000

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/framework.go" <<'GO'
package main

import (
	"os"

	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
)

func main() {
	o, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		os.Exit(1)
	}
	start := func(c *config.CompletedConfig) cloudprovider.Interface {
		cloud, err := cloudprovider.InitCloudProvider(c.ComponentConfig.KubeCloudShared.CloudProvider.Name, "")
		if err != nil {
			os.Exit(1)
		}
		return cloud
	}
	os.Exit(cli.Run(app.NewCloudControllerManagerCommand(
		o, start, app.DefaultInitFuncConstructors, names.CCMControllerAliases(), cliflag.NamedFlagSets{}, wait.NeverStop)))
}
GO

# The workspace's module graph resolves the program's imports, so both link the same release.
go build -ldflags '-s -w' -o "$work/framework" "$work/framework.go"
go build -ldflags '-s -w' -o "$work/ccm" ./cmd/ccm

megabytes() { awk -v bytes="$1" 'BEGIN { printf "%.1f MB", bytes / 1e6 }'; }
framework=$(wc -c <"$work/framework") ccm=$(wc -c <"$work/ccm")
echo "note: framework only $(megabytes "$framework"), ccm $(megabytes "$ccm"):" \
	"$(megabytes $((ccm - framework))) larger, at most $(megabytes "$limit") allowed"
((ccm - framework <= limit))
