//go:build !exclude_fake

package main

// Each cloud has one file like this one: a build tag that excludes it, and a blank import.
import _ "github.com/unified-ccm/unified-ccm/providers/fake"
