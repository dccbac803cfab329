//go:build !exclude_vsphere

package main

import _ "github.com/unified-ccm/unified-ccm/providers/vsphere"
