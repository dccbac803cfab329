package orphantest

import (
	"fmt"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
)

// few and many are the numbers of Services between which the cost of an inventory is compared.
const few, many = 10, 200

// verifyCost returns an error if an inventory as the running manager makes it, without parts and plans of Services,
// needs more calls for many Services than for few.
func (r *rig) verifyCost() error {
	base, err := r.callsOfInventory(few)
	if err != nil {
		return err
	}
	calls, err := r.callsOfInventory(many)
	if err != nil {
		return err
	}
	allowed := base
	if r.options.ServicesPerCall > 0 {
		allowed += (many - few) / r.options.ServicesPerCall
	}
	if calls > allowed {
		return fmt.Errorf("%d calls at %d Services, and %d at %d: at most %d are allowed", base, few, calls, many, allowed)
	}
	return nil
}

// callsOfInventory creates Services until there are n, and returns the number of calls of an inventory in a new
// process.
func (r *rig) callsOfInventory(n int) (int, error) {
	cloud, end, err := r.manager(r.ours)
	if err != nil {
		return 0, err
	}
	defer end()
	for i := r.measured; i < n; i++ {
		if err := r.ensure(cloud, r.ours, r.service(fmt.Sprintf("cost-%d", i), 80)); err != nil {
			return 0, err
		}
	}
	r.measured = n
	time.Sleep(time.Hour) // load balancers are active, and every snapshot is stale
	s, err := r.session()
	if err != nil {
		return 0, err
	}
	s.Parts, s.Plan = false, nil
	log := r.world.Front().Log()
	log.Reset()
	audit, err := orphans.Run(r.ctx, s)
	if err != nil {
		return 0, err
	}
	states := audit.Report.Count()
	if states[inventory.Owned] < n || states[inventory.Orphaned] == 0 || len(audit.Failures) > 0 {
		return 0, fmt.Errorf("states %v at %d Services, failures %q", states, n, audit.Failures)
	}
	return len(log.Calls()), nil
}
