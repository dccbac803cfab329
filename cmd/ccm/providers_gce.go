//go:build !exclude_gce

package main

import _ "github.com/unified-ccm/unified-ccm/providers/gce"
