package compare

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/bench"
)

// Numbers of nodes and Services of the operations.
const (
	operationNodes    = 50
	operationServices = 10
)

// operations are the phases of the benchmark that are compared, in their order.
func operations() []report.Operation {
	out := []report.Operation{
		{ID: lab.PhaseJoin, Title: fmt.Sprintf("%d nodes join", operationNodes),
			Detail: "Machines are launched and register, until all nodes are initialized."},
		{ID: lab.PhaseCreateAll, Title: fmt.Sprintf("%d Services are created", operationServices),
			Detail: "Until every one has the address of its load balancer. An interruption is a SIGKILL after half of the " +
				"changes."},
		{ID: lab.PhaseCreateOne, Title: "1 Service is created", Detail: "One more, on a manager with filled caches."},
		{ID: lab.PhaseDeleteOne, Title: "1 Service is deleted", Detail: "Until its load balancer is deleted."},
		{ID: lab.PhaseAddNode, Title: "1 node joins", Detail: "Until it is a member of every load balancer."},
		{ID: lab.PhaseRestart, Title: "Restart",
			Detail: "A manager with empty caches starts, until every Service is ensured."},
		{ID: lab.PhaseDeleteAll, Title: "Everything is deleted", Detail: "All Services, and then the nodes."},
	}
	for i, o := range out {
		out[i].SharedReads = o.ID != lab.PhaseCreateOne && o.ID != lab.PhaseDeleteOne
		out[i].Costs = map[string]report.Cost{}
	}
	return out
}

// measure runs the operations on a cluster of their own.
func (r *result) measure(ctx context.Context, column *Column) error {
	if !r.needsOperations(column) {
		return nil
	}
	dir := filepath.Join(r.options.Dir, column.Name+"-operations")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	phases := r.phases(column.Name)
	measured, err := bench.Run(ctx, r.options.Binaries, bench.Options{
		Provider: column.Provider, Dir: dir, Nodes: operationNodes, Services: operationServices,
		Latency: lab.Latency(column.Provider), Balancers: &column.Kind, Manager: column.Manager,
		ServicesAt: column.ServicesAt, Phases: phases, Again: true,
		Step: func(ctx context.Context, what string, do func(context.Context) error) error {
			r.notify("%s: %s", column.Name, what)
			return do(ctx)
		},
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.addCosts(column.Name, measured, err)
	return nil
}

// phases returns the operations of a column: without load balancers only that of nodes.
func (r *result) phases(column string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.report.Capabilities {
		if c.ID == basicScenario && c.Cells[column].Verdict == report.NotApplicable {
			return []string{lab.PhaseJoin}
		}
	}
	var out []string
	for _, o := range r.report.Operations {
		out = append(out, o.ID)
	}
	return out
}

// needsOperations reports whether the operations of a column are to be measured.
func (r *result) needsOperations(column *Column) bool {
	return r.options.Operations && column.hasOperations() && !r.isMeasured(column.Name)
}

// isMeasured reports whether a resumed run has the operations of a column.
func (r *result) isMeasured(column string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.report.Operations {
		if c, ok := o.Costs[column]; !ok || c.Missing != "" {
			return false
		}
	}
	return true
}

// addCosts adds the phases, and the reason why others are missing.
func (r *result) addCosts(column string, measured bench.Report, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	phases := map[string]bench.Phase{}
	for _, p := range measured.Phases {
		phases[p.Key] = p
	}
	for _, o := range r.report.Operations {
		p, ok := phases[o.ID]
		if !ok {
			cost := report.Cost{Missing: "not applicable, because there are no load balancers"}
			if err != nil {
				cost.Missing = "not measured: " + err.Error()
			}
			o.Costs[column] = cost
			continue
		}
		cost := report.Cost{Calls: p.Reads + p.Mutations, Changes: p.Mutations, Seconds: p.Seconds}
		if p.Again != nil {
			cost.AgainCalls, cost.AgainChanges = p.Again.Reads+p.Again.Mutations, p.Again.Mutations
		}
		if o.ID == lab.PhaseCreateAll && measured.Interruption != nil {
			cost.Left = measured.Interruption.Left
		}
		o.Costs[column] = cost
	}
}
