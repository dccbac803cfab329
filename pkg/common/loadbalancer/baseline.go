package loadbalancer

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// baselines replace the records of load balancers without a stored one, such as those that were taken over. A baseline
// has the fields of a Service at the time when this process first saw it, or last applied them. The existing objects
// then count as applied, and a field that the user changes afterwards is a cause. Baselines are lost at a restart,
// which can only hold more changes.
type baselines struct {
	mu      sync.Mutex
	records map[types.UID]AppliedRecord
}

// getOrSet returns the baseline of a Service, and sets it to now if there is none.
func (b *baselines) getOrSet(service types.UID, now AppliedRecord) AppliedRecord {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.records[service]; !ok {
		b.setLocked(service, now)
	}
	return b.records[service]
}

func (b *baselines) set(service types.UID, record AppliedRecord) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.setLocked(service, record)
}

func (b *baselines) setLocked(service types.UID, record AppliedRecord) {
	if b.records == nil {
		b.records = map[types.UID]AppliedRecord{}
	}
	b.records[service] = record
}

func (b *baselines) forget(service types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.records, service)
}

// lastApplied returns the last applied fields of a Service, and whether they come from a stored record.
func (c *Controller[S, D, O]) lastApplied(t target[S, D], have O) (record AppliedRecord, stored bool) {
	if keeper, ok := any(c.cloud).(RecordKeeper[D, O]); ok {
		if record, _ := keeper.StoredRecord(t.key, have); !record.IsZero() {
			return record, true
		}
	}
	if !t.applied.IsZero() {
		return t.applied, false
	}
	return c.baselines.getOrSet(t.key.UID, NewRecord("", "", t.in.Fields)), false
}

// setBaseline sets the baseline to the applied fields. Fields that were not applied keep their previous values.
func (c *Controller[S, D, O]) setBaseline(t target[S, D], have O, applied plan.Plan) {
	previous, _ := c.lastApplied(t, have)
	c.baselines.set(t.key.UID, NewRecord("", "", t.in.Fields).WithPending(previous, unappliedFields(applied)))
}
