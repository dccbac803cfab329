package model

import (
	"fmt"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// builder is the state of one Desire.
type builder struct {
	Request
	settings Settings
	// dual is set if the load balancer has addresses of both families.
	dual         bool
	udpKeepsIPv4 bool
	// noIPv6 is set if a Service with IPv6 first cannot have it. cloud-provider-aws gave such a Service IPv4.
	noIPv6   bool
	problems intent.Problems
	// creation are problems that only prevent the creation of a load balancer.
	creation intent.Problems
	warnings []string
	// reasons has further warnings with the reasons of their Events.
	reasons map[string]events.Reason
	// reportedKeys are the annotations with a reported problem.
	reportedKeys map[string]bool
}

func (b *builder) warnf(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// instanceState reports whether an instance can be registered, and whether a registered one stays. An unknown one can.
func instanceState(i *ec2types.Instance) (canRegister, keep bool) {
	if i == nil || i.State == nil {
		return true, true
	}
	switch i.State.Name {
	case ec2types.InstanceStateNameTerminated, ec2types.InstanceStateNameShuttingDown:
		return false, false
	case ec2types.InstanceStateNameStopped, ec2types.InstanceStateNameStopping:
		return false, true
	default:
		return true, true
	}
}
