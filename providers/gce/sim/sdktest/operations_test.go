package sdktest

import (
	"net/http"
	"testing"
	"time"

	compute "google.golang.org/api/compute/v1"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

func insertCheck(c *cloud, name string) *compute.HttpHealthChecksInsertCall {
	return c.HttpHealthChecks.Insert(project, &compute.HttpHealthCheck{Name: name})
}

// Page "Handling API responses": PENDING, then RUNNING, then DONE.
func TestOperationsArePendingThenRunningThenDone(t *testing.T) {
	run(t, sim.Options{SettleTime: 4 * time.Second}, func(t *testing.T, c *cloud) {
		op := must[*compute.Operation](t)(insertCheck(c, "a").Do())
		for _, want := range []string{"PENDING", "RUNNING", "RUNNING", "RUNNING", "DONE"} {
			if op.Status != want || (op.EndTime != "") != (want == "DONE") {
				t.Fatalf("operation is %+v, want %s", op, want)
			}
			pass(time.Second)
			op = must[*compute.Operation](t)(c.GlobalOperations.Get(project, op.Name).Do())
		}
	})
}

// Method globalOperations.wait: it waits for DONE, but no more than two minutes.
func TestWaitEndsWithTheOperationOrAfterTwoMinutes(t *testing.T) {
	run(t, sim.Options{SettleTime: 10 * time.Second}, func(t *testing.T, c *cloud) {
		op := must[*compute.Operation](t)(insertCheck(c, "a").Do())
		start := time.Now()
		op = must[*compute.Operation](t)(c.GlobalOperations.Wait(project, op.Name).Do())
		if op.Status != "DONE" || time.Since(start) != 10*time.Second {
			t.Errorf("operation is %s after %s, want DONE after 10s", op.Status, time.Since(start))
		}
		c.SetOutcomes(sim.OutcomeRule{Outcome: sim.OutcomeStuck})
		op = must[*compute.Operation](t)(insertCheck(c, "b").Do())
		start = time.Now()
		op = must[*compute.Operation](t)(c.GlobalOperations.Wait(project, op.Name).Do())
		if op.Status != "RUNNING" || time.Since(start) != 2*time.Minute {
			t.Errorf("operation is %s after %s, want RUNNING after 2m", op.Status, time.Since(start))
		}
		go func() { pass(time.Second); c.Unstick() }()
		op = must[*compute.Operation](t)(c.GlobalOperations.Wait(project, op.Name).Do())
		if op.Status != "DONE" {
			t.Errorf("operation is %s, want DONE", op.Status)
		}
	})
}

func TestOperationsFailLateAndChangeNothing(t *testing.T) {
	run(t, sim.Options{SettleTime: time.Second}, func(t *testing.T, c *cloud) {
		c.SetOutcomes(sim.OutcomeRule{Outcome: sim.OutcomeError, Reason: "quotaExceeded", Status: 403,
			Method: "forwardingRules.insert", Delay: time.Minute})
		c.done(c.TargetPools.Insert(project, region, &compute.TargetPool{Name: "web"}))
		start := time.Now()
		op := must[*compute.Operation](t)(c.finish(c.ForwardingRules.Insert(project, region,
			&compute.ForwardingRule{Name: "web", Target: "regions/europe-west1/targetPools/web"})))
		if op.Error == nil || op.Error.Errors[0].Code != "QUOTA_EXCEEDED" || op.HttpErrorStatusCode != 403 {
			t.Errorf("operation is %+v, want QUOTA_EXCEEDED", op)
		}
		if d := time.Since(start); d != time.Minute+time.Second {
			t.Errorf("operation took %s, want 1m1s", d)
		}
		_, err := c.ForwardingRules.Get(project, region, "web").Do()
		c.wantError(err, http.StatusNotFound, "notFound")
	})
}

func TestErrorsMayComeInTheOperation(t *testing.T) {
	run(t, sim.Options{LateErrors: true}, func(t *testing.T, c *cloud) {
		c.buildExternal("web")
		op := must[*compute.Operation](t)(c.finish(c.TargetPools.Delete(project, region, "web")))
		if op.Error == nil || op.Error.Errors[0].Code != "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE" ||
			op.HttpErrorStatusCode != http.StatusBadRequest {
			t.Errorf("operation is %+v, want RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", op)
		}
	})
}

// Resources with an operation in progress are not ready.
func TestChangingResourcesAreNotReady(t *testing.T) {
	run(t, sim.Options{SettleTime: 4 * time.Second}, func(t *testing.T, c *cloud) {
		insert := must[*compute.Operation](t)(insertCheck(c, "a").Do())
		_, err := c.HttpHealthChecks.Get(project, "a").Do()
		c.wantError(err, http.StatusNotFound, "notFound") // while PENDING
		c.refused(insertCheck(c, "a"), http.StatusConflict, "alreadyExists")
		pass(2 * time.Second)
		if _, err := c.HttpHealthChecks.Get(project, "a").Do(); err != nil {
			t.Errorf("reading what is being created: %v", err)
		}
		pool := &compute.TargetPool{Name: "web", HealthChecks: []string{"global/httpHealthChecks/a"}}
		c.refused(c.TargetPools.Insert(project, region, pool), http.StatusBadRequest, "resourceNotReady")
		c.refused(c.HttpHealthChecks.Delete(project, "a"), http.StatusBadRequest, "resourceNotReady")
		must[*compute.Operation](t)(c.GlobalOperations.Wait(project, insert.Name).Do())
		must[*compute.Operation](t)(c.HttpHealthChecks.Delete(project, "a").Do())
		c.refused(c.TargetPools.Insert(project, region, pool), http.StatusBadRequest, "resourceNotReady")
		c.refused(insertCheck(c, "a"), http.StatusConflict, "alreadyExists")
	})
}

// Parameter requestId: the same ID returns the first operation; it must be a UUID other than the zero one.
func TestRequestIDReturnsTheFirstOperation(t *testing.T) {
	const id = "c0ffee00-0000-4000-8000-000000000001"
	run(t, sim.Options{TokenLife: 24 * time.Hour}, func(t *testing.T, c *cloud) {
		first := must[*compute.Operation](t)(insertCheck(c, "a").RequestId(id).Do())
		second := must[*compute.Operation](t)(insertCheck(c, "a").RequestId(id).Do())
		if first.Name != second.Name {
			t.Errorf("operations are %s and %s, want one", first.Name, second.Name)
		}
		c.refused(c.HttpHealthChecks.Delete(project, "a").RequestId(id), http.StatusBadRequest, "invalid")
		c.refused(insertCheck(c, "b").RequestId("x"), http.StatusBadRequest, "invalid")
		c.refused(insertCheck(c, "b").RequestId("00000000-0000-0000-0000-000000000000"), http.StatusBadRequest, "invalid")
		pass(61 * time.Minute)
		c.refused(insertCheck(c, "a").RequestId(id), http.StatusConflict, "alreadyExists")
	})
}

func TestMembersChangeSideBySide(t *testing.T) {
	run(t, sim.Options{SettleTime: time.Second}, func(t *testing.T, c *cloud) {
		a, b := c.launch("a", zone), c.launch("b", zone)
		c.done(c.TargetPools.Insert(project, region, &compute.TargetPool{Name: "web"}))
		for _, url := range []string{a, b} {
			must[*compute.Operation](t)(c.TargetPools.AddInstance(project, region, "web", &compute.TargetPoolsAddInstanceRequest{
				Instances: []*compute.InstanceReference{{Instance: url}}}).Do())
		}
		c.refused(c.TargetPools.Delete(project, region, "web"), http.StatusBadRequest, "resourceNotReady")
		pass(2 * time.Second)
		if p := must[*compute.TargetPool](t)(c.TargetPools.Get(project, region, "web").Do()); len(p.Instances) != 2 {
			t.Errorf("instances are %v, want both", p.Instances)
		}
	})
}

func TestOperationsAreListed(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		op := c.done(insertCheck(c, "a"))
		list := must[*compute.OperationList](t)(c.GlobalOperations.List(project).Filter("operationType eq insert").Do())
		if len(list.Items) != 1 || list.Items[0].Name != op.Name {
			t.Errorf("operations are %+v, want %s", list.Items, op.Name)
		}
		must[*compute.OperationAggregatedList](t)(c.GlobalOperations.AggregatedList(project).Do())
	})
}
