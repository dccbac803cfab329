package loadbalancer

import "github.com/unified-ccm/unified-ccm/pkg/common/plan"

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
	return c.rememberInputs(t), false
}

// rememberInputs makes the fields of a Service its baseline when it is first seen, and returns the baseline. It does so
// before they are validated: a correction is then a change.
func (c *Controller[S, D, O]) rememberInputs(t target[S, D]) AppliedRecord {
	baseline, ok := c.baselines.Load(t.key.UID)
	if !ok {
		baseline, _ = c.baselines.LoadOrStore(t.key.UID, NewRecord("", "", t.in.Fields))
	}
	record, _ := baseline.(AppliedRecord)
	return record
}

// setBaseline sets the baseline to the applied fields. Fields that were not applied keep their previous values.
func (c *Controller[S, D, O]) setBaseline(t target[S, D], have O, applied plan.Plan) {
	previous, _ := c.lastApplied(t, have)
	c.baselines.Store(t.key.UID, NewRecord("", "", t.in.Fields).WithPending(previous, unappliedFields(applied)))
}
