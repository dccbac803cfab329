//go:build !exclude_aws

package main

import _ "github.com/unified-ccm/unified-ccm/providers/aws"
