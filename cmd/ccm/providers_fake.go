//go:build !exclude_fake

package main

// Each cloud is one file like this one: a build tag that leaves it out, and a blank import.
import _ "github.com/unified-ccm/unified-ccm/providers/fake"
