//go:build !exclude_openstack

package main

import _ "github.com/unified-ccm/unified-ccm/providers/openstack"
