package loadbalancer

import "github.com/unified-ccm/unified-ccm/pkg/common/plan"

// The fields of virtual servers and groups that disrupt, by their names in the API.
const (
	fieldAddress = "ip_address"
	fieldAccess  = "access_list_control"
	fieldRanges  = "ip_addresses"
	fieldProfile = "application_profile_path"
)

// fieldTags is the field of the tags of all objects.
const fieldTags = "tags"

// placeAddress is the place of the load balancer's address, which an allocation and all virtual servers have.
const placeAddress = "address of the load balancer"

// The disruptive changes.
var (
	deletesServer = plan.Effect{
		Change:   "a virtual server is deleted",
		Disrupts: plan.DisruptsTraffic,
	}
	closesServer = plan.Effect{
		Change:   "a virtual server gets source ranges, or other ones",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldAccess, fieldRanges},
	}
	changesProfile = plan.Effect{
		Change:   "a virtual server gets another application profile",
		Disrupts: plan.DisruptsTraffic, Fields: []string{fieldProfile},
	}
	movesAddress = plan.Effect{
		Change:   "the load balancer gets another address",
		Disrupts: plan.DisruptsAddress, Fields: []string{fieldAddress},
	}
)

// Effects returns the disruptive changes.
func Effects() []plan.Effect {
	return []plan.Effect{deletesServer, closesServer, changesProfile, movesAddress}
}
