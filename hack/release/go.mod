// Programs that make and check a release, pinned like any dependency. A module of its own, outside go.work: their
// libraries are not part of the product.
module github.com/unified-ccm/unified-ccm/hack/release

go 1.26.0

require (
	github.com/google/licensecheck v0.3.1
	github.com/spdx/tools-golang v0.5.7
	golang.org/x/mod v0.42.0
)

require (
	github.com/anchore/go-struct-converter v0.1.0 // indirect
	github.com/bmatcuk/doublestar/v4 v4.10.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/fatih/color v1.19.0 // indirect
	github.com/mattn/go-colorable v0.1.14 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/mattn/go-runewidth v0.0.21 // indirect
	github.com/mattn/go-shellwords v1.0.12 // indirect
	github.com/rhysd/actionlint v1.7.12 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	go.yaml.in/yaml/v4 v4.0.0-rc.3 // indirect
	golang.org/x/sync v0.20.0 // indirect
	golang.org/x/sys v0.42.0 // indirect
)

tool github.com/rhysd/actionlint/cmd/actionlint
