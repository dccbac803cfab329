package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
)

// Run measures all phases, one after the other, on one cluster.
func Run(ctx context.Context, b lab.Binaries, o Options) (_ Report, err error) {
	o.PhaseTimeout = cmp.Or(o.PhaseTimeout, DefaultPhaseTimeout)
	args := ManagerArgs()
	if o.Manager.Binary != "" {
		b.CCM = o.Manager.Binary
	} else {
		args = append(args, OwnArgs()...)
	}
	cluster, err := lab.StartCluster(ctx, b, lab.ClusterOptions{
		Provider: o.Provider, Dir: o.Dir, Step: o.Step, Listen: o.Manager.Listen,
		Cloud: lab.SimulatorOptions{
			Latency: o.Latency, Services: o.ServicesAt, LoadBalancers: o.Services + spareLoadBalancers,
		},
		ManagerArgs: slices.Concat(args, o.Manager.Args),
		CloudConfig: o.Manager.Config,
	})
	if err != nil {
		return Report{}, err
	}
	defer func() {
		err = errors.Join(err, o.Step(context.WithoutCancel(ctx), "stopping everything", cluster.Stop))
	}()
	r, stopWatching, err := newWatchingRunner(ctx, cluster, o)
	if err != nil {
		return Report{}, err
	}
	defer stopWatching()
	report := Report{
		Provider: o.Provider, Manager: o.Manager.Binary, Nodes: r.Nodes, Services: r.Services,
		RealServices: o.ServicesAt != "", LatencyMilliseconds: o.Latency.Milliseconds(), CPUs: runtime.NumCPU(),
		Targets: min(r.Nodes, r.targets()),
	}
	for _, p := range r.phases() {
		err := o.Step(ctx, p.name, func(ctx context.Context) error {
			measured, err := r.runPhase(ctx, p)
			if err == nil {
				report.Phases = append(report.Phases, measured)
			}
			return err
		})
		if err != nil {
			return report, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if o.Again && report.phase(lab.PhaseCreateAll).Mutations > 0 {
		err = o.Step(ctx, "interruption", func(ctx context.Context) (err error) {
			report.Interruption, err = r.interrupt(ctx, report.phase(lab.PhaseCreateAll).Mutations)
			return err
		})
	}
	return report, err
}

// phases returns all phases for this cloud, in order.
func (r *runner) phases() []phase {
	phases := r.usualPhases()
	selected := r.Phases
	if len(r.cluster.Clouds) > 1 {
		selected = CloudsPhases()
	}
	if slices.Contains(selected, lab.PhaseJoinUnlabeled) {
		phases = slices.Insert(phases, 1, phase{key: lab.PhaseJoinUnlabeled, do: r.joinUnlabeled,
			name: count(lab.UnlabeledNodes, "node") + " joining without a label"})
	}
	if len(selected) > 0 {
		return slices.DeleteFunc(phases, func(p phase) bool { return !slices.Contains(selected, p.key) })
	}
	var out []phase
	for _, p := range phases {
		out = append(out, p)
		switch p.key {
		case lab.PhaseRefresh:
			out = append(out, r.optionalPhases(
				phase{
					key: lab.PhaseSilent, name: count(lab.SilentNodes, "node") + " silent, 1 min",
					prepare: r.stopReporting, do: r.idle,
				},
				phase{
					key: lab.PhaseAddNodeFew, name: "1 node added, " + count(lab.FewServices, "Service"),
					prepare: r.createFew, do: r.addNodeToFew,
				},
			)...)
		case lab.PhaseDeleteOne:
			out = append(out, r.optionalPhases(
				phase{
					key: lab.PhaseCreateSlow, name: "1 Service, settles in " + lab.SlowSettle.String(),
					prepare: r.slowDown, do: r.create(1),
				},
				phase{
					key:     lab.PhaseCreateMany,
					name:    count(lab.ManyServices, "Service") + ", settle in " + lab.SlowSettle.String(),
					prepare: r.slowDown, do: r.create(lab.ManyServices),
				},
			)...)
		case lab.PhaseDeleteAll:
			out = append(out, r.optionalPhases(phase{
				key: lab.PhaseRoutes, name: count(lab.RoutedNodes, "new route"),
				prepare: r.restartForRoutes, do: r.makeRoutes, lastCall: true,
			})...)
		}
	}
	return out
}

// optionalPhases returns the phases that the cloud has a budget for.
func (r *runner) optionalPhases(candidates ...phase) (out []phase) {
	for _, p := range candidates {
		if _, ok := r.budgets[p.key]; ok && !r.realServices() {
			out = append(out, p)
		}
	}
	return out
}

func (r *runner) usualPhases() []phase {
	return []phase{
		{key: lab.PhaseJoin, name: count(r.Nodes, "node") + " joining", do: r.join},
		{key: lab.PhaseRefresh, name: count(r.Nodes, "node") + " refreshed", prepare: r.restartForRefresh, do: r.refresh},
		{key: lab.PhaseCreateAll, name: count(r.Services, "Service") + " created", prepare: r.prepareServices,
			do: r.createServices},
		{key: lab.PhaseCreateOne, name: "1 Service created", prepare: r.warmUp, do: r.createOne, lastCall: true},
		{key: lab.PhaseDeleteOne, name: "1 Service deleted", prepare: r.deleteWarmUp, do: r.deleteOne, lastCall: true},
		{key: lab.PhaseAddNode, name: "1 node added", prepare: r.prepareNode, do: r.addNode, lastCall: true},
		{key: lab.PhaseRestart, name: "restart", prepare: r.stopQuick, do: r.start},
		{key: lab.PhaseRestartAgain, name: "restart again", prepare: r.stopWhenRecorded, do: r.start},
		{key: lab.PhaseDeleteAll, name: "delete all", do: r.deleteAll, lastCall: true},
		{key: lab.PhaseIdle, name: "idle with routes, 1 min", prepare: r.restartWithRoutes, do: r.idle},
	}
}

// runPhase prepares and measures a phase.
func (r *runner) runPhase(ctx context.Context, p phase) (measured Phase, err error) {
	if p.prepare != nil {
		if err := p.prepare(ctx); err != nil {
			return Phase{}, err
		}
	}
	if measured, err = r.measure(ctx, p); err != nil {
		return Phase{}, err
	}
	if budget, ok := r.budgets[p.key]; ok && !r.realServices() {
		measured.Target = &budget
	}
	if r.Again && p.key != lab.PhaseRestart {
		measured.Again, err = r.measureRestart(ctx)
	}
	return measured, err
}

func (r *runner) measure(ctx context.Context, p phase) (Phase, error) {
	ctx, cancel := context.WithTimeout(ctx, r.PhaseTimeout)
	defer cancel()
	for _, log := range r.logs() {
		log.Reset()
	}
	manager := r.cluster.Manager()
	before, err := manager.Usage()
	if err != nil {
		before = lab.Usage{} // The process of the last phase has ended: the next one starts at zero.
	}
	started := time.Now()
	duration, err := p.do(ctx)
	if err == nil && duration == 0 {
		duration = time.Since(started)
		if last := r.lastCall(started); p.lastCall && last > 0 {
			duration = last
		}
	}
	if err != nil {
		return Phase{}, r.explain(err)
	}
	after, err := r.cluster.Manager().Usage()
	if err != nil {
		return Phase{}, r.explain(err)
	}
	if r.cluster.Manager() != manager {
		before = lab.Usage{}
	}
	out := Phase{
		Key: p.key, Name: p.name, Seconds: lab.Seconds(duration),
		CPUSeconds: lab.Seconds(after.CPU - before.CPU), PeakMemoryBytes: after.PeakMemory, Operations: map[string]int{},
	}
	for _, cloud := range r.cluster.Clouds {
		out.add(cloud, len(r.cluster.Clouds) > 1)
	}
	return out, nil
}
