package loadbalancer

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
)

func TestPlanNamesMembersThatJoinAndLeave(t *testing.T) {
	var members []api.LBPoolMember
	for i := range 12 {
		members = append(members, api.LBPoolMember{IPAddress: fmt.Sprintf("10.0.0.%d", 10+i)})
	}
	change, ok := (&differ{}).membersUpdate(api.LBPool{Members: members[:11]}, members[1:])
	want := []plan.Field{{Name: "members", Before: "11 members", After: "+10.0.0.21 -10.0.0.10 (11 members)", Membership: true}}
	if diff := cmp.Diff(want, change.Fields); !ok || diff != "" {
		t.Errorf("fields of the plan (-want +got):\n%s", diff)
	}
}
