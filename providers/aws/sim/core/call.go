package core

import (
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// GlobalRegion is the region in signatures of calls to the global endpoint of STS.
const GlobalRegion = "us-east-1"

// Names of the services, as the call log and the limits of the front use them.
const (
	ServiceEC2   = "ec2"
	ServiceELB   = "elb"
	ServiceELBv2 = "elbv2"
	ServiceSTS   = "sts"
	ServiceIMDS  = "imds"
)

// Call is a parsed request with its service; the operation is still unknown.
type Call struct {
	Service, Version, Action string
	Credential               query.Credential
	Signed, Malformed        bool
	Mutating                 bool
	// NoObjects makes the call see a cloud without objects.
	NoObjects bool
}
