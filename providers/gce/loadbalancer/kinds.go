package loadbalancer

import (
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/firewalls"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/kinds"
)

// The kinds of objects in plans. The forwarding rule has the address, and is the load balancer. Members are kinds of
// their own, because only they change when nodes join and leave.
const (
	kindRule         = lbcommon.KindLoadBalancer
	kindAddress      = "address"
	kindPool         = "target pool"
	kindMembers      = "members"
	kindPoolCheck    = kinds.NamePoolCheck
	kindBackend      = "backend service"
	kindCheck        = kinds.NameCheck
	kindGroup        = "instance group"
	kindGroupMembers = "group members"
	kindFirewall     = firewalls.Name
)
