package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/translation"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// run runs one scenario. An error means that the column cannot continue.
func (r *run) run(ctx context.Context, s Scenario) (report.Cell, error) {
	// Each scenario finds a manager with empty caches, so that its calls do not depend on the scenarios before it.
	if err := r.restartFor(ctx, s); err != nil {
		return report.Cell{}, err
	}
	t, err := r.newTrial(ctx, strings.ReplaceAll(s.ID, ".", "-"))
	if err != nil {
		return report.Cell{}, err
	}
	verdict, summary := t.judge(ctx, s)
	cell := report.Cell{Verdict: verdict, Summary: summary, Seconds: lab.Seconds(cmp.Or(t.duration,
		time.Since(t.started)))}
	if r.Descriptor != nil && s.Declared != nil {
		cell.Declared = s.Declared(*r.Descriptor)
	}
	if len(t.evidence.After) == 0 {
		t.evidence.After = objects(world.ChangedObjects(t.before, r.inventory()))
	}
	cell.Leaked, err = t.clean(context.WithoutCancel(ctx))
	if deletion := (*deletionError)(nil); errors.As(err, &deletion) && t.Manager.Binary != "" {
		cell.Verdict, cell.Summary = report.Ignored, deletion.Error() // A result about the other manager.
	} else if err != nil {
		cell.Verdict, cell.Summary = report.Failed, err.Error()
	}
	t.collectCalls(&cell)
	cell.Evidence = &t.evidence
	if ended := r.cluster.Ended(); ended != "" {
		return cell, fmt.Errorf("%s: %s", s.ID, ended)
	}
	return cell, nil
}

// judge runs the scenario. What needs a setting that another manager does not have is not applicable to it.
func (t *Trial) judge(ctx context.Context, s Scenario) (report.Verdict, string) {
	if t.Manager.Binary != "" && len(s.Args) > 0 {
		return report.NotApplicable, "It needs an argument that only ccm has."
	}
	verdict, summary, err := s.Run(ctx, t)
	if missing := (*translation.MissingSettingError)(nil); errors.As(err, &missing) {
		return report.NotApplicable, missing.Error()
	}
	if err != nil {
		return report.Failed, err.Error()
	}
	return verdict, summary
}

// newTrial creates the trial's namespace once the cloud is quiet.
func (r *run) newTrial(ctx context.Context, name string) (*Trial, error) {
	t := &Trial{run: r, namespace: name, evidence: report.Evidence{Checks: []report.Check{}}}
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}
	_, err := r.cluster.Plane.Client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating a namespace: %w", err)
	}
	t.addCleanup(t.deleteNamespace)
	startCtx, cancel := context.WithTimeout(ctx, t.scaled(startTimeout))
	defer cancel()
	if err := t.waitUntilIdle(startCtx, startPeriod, t.log().Len); err != nil && startCtx.Err() == nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	t.before = r.inventory()
	t.begin()
	return t, nil
}

// begin starts the measurement of calls and time.
func (t *Trial) begin() {
	t.started, t.firstCall = time.Now(), lastCall(t.log())+1
}

func (t *Trial) log() *sim.Log { return t.cluster.Cloud.World.Front().Log() }

func lastCall(log *sim.Log) int {
	calls := log.Calls()
	if len(calls) == 0 {
		return 0
	}
	return calls[len(calls)-1].Seq
}

// waitUntilQuiet waits until no call has changed the cloud for a while.
func (t *Trial) waitUntilQuiet(ctx context.Context) error {
	return t.waitUntilIdle(ctx, t.scaled(quietPeriod), t.log().MutationCount)
}

// waitUntilIdle waits until a count of calls has not changed for a period.
func (t *Trial) waitUntilIdle(ctx context.Context, period time.Duration, count func() int) error {
	idle := lab.NewIdle(period, count)
	return wait.PollUntilContextCancel(ctx, poll, true, func(context.Context) (bool, error) { return idle.Reached(), nil })
}

// deletionError reports that an object was deleted that existed before the scenario.
type deletionError struct{ object world.Object }

func (e *deletionError) Error() string {
	return fmt.Sprintf("%s %s was deleted, which the scenario does not own", e.object.Kind, e.object.Name)
}

// addCleanup registers a function for the end, in reverse order.
func (t *Trial) addCleanup(do func(context.Context) error) { t.cleanups = append(t.cleanups, do) }

// clean deletes the objects of the trial, and returns its orphans in the cloud.
func (t *Trial) clean(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.scaled(cleanTimeout))
	defer cancel()
	for _, do := range slices.Backward(t.cleanups) {
		if err := do(ctx); err != nil {
			return nil, fmt.Errorf("cleaning up: %w", err)
		}
	}
	if err := t.waitUntilQuiet(ctx); err != nil {
		return nil, err
	}
	leaked, err := lab.Orphans(ctx, t.inventory, t.before, t.scaled(lab.OrphanTimeout))
	if err != nil {
		return nil, err
	}
	if deleted := world.MissingObjects(t.before, t.inventory()); len(deleted) > 0 {
		return leaked, &deletionError{deleted[0]}
	}
	return leaked, nil
}

// deleteNamespace deletes and finalizes the namespace, because no namespace controller runs.
func (t *Trial) deleteNamespace(ctx context.Context) error {
	namespaces := t.cluster.Plane.Client.CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, t.namespace, metav1.DeleteOptions{}); err != nil {
		return err
	}
	namespace, err := namespaces.Get(ctx, t.namespace, metav1.GetOptions{})
	if err == nil {
		namespace.Spec.Finalizers = nil
		_, err = namespaces.Finalize(ctx, namespace, metav1.UpdateOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// manifest adds an object to the evidence as a user writes it.
func (t *Trial) manifest(object any) error {
	text, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	if t.evidence.Manifest != "" {
		t.evidence.Manifest += "---\n"
	}
	t.evidence.Manifest += withoutServerFields(string(text))
	return nil
}

// withoutServerFields removes lines that a user does not write.
func withoutServerFields(manifest string) string {
	var b strings.Builder
	for line := range strings.Lines(manifest) {
		switch strings.TrimSpace(line) {
		case "creationTimestamp: null", "loadBalancer: {}", "status: {}", "status:":
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// plan adds what `ccm plan` prints for the manifest. Another manager has no plan.
func (t *Trial) plan(ctx context.Context) error {
	if t.Manager.Binary != "" {
		return nil
	}
	file := filepath.Join(filepath.Dir(t.cluster.ManagerOptions.Log), "manifest.yaml")
	if err := os.WriteFile(file, []byte(t.evidence.Manifest), 0o600); err != nil {
		return err
	}
	out, err := t.live.RunPlan(ctx, append(t.ownArgs(), "-f", file)...)
	t.evidence.Plan = string(out)
	if err != nil && ctx.Err() == nil {
		t.evidence.Plan += err.Error() + "\n" // A refusal is a result.
		return nil
	}
	return err
}

// check compares an observation with the wanted one, and adds the result to the evidence.
func (t *Trial) check(name, want, got string) report.Check {
	c := report.Check{Name: name, Want: want, Got: got, OK: want == got}
	t.evidence.Checks = append(t.evidence.Checks, c)
	return c
}

// collectCalls adds the calls since begin.
func (t *Trial) collectCalls(cell *report.Cell) {
	for _, c := range t.log().Calls() {
		if c.Seq < t.firstCall {
			continue
		}
		call := report.Call{
			Seconds: lab.Seconds(c.At.Sub(t.started)), Took: lab.Seconds(c.Duration), Operation: c.Name, Change: c.Mutating,
		}
		switch {
		case c.Status == 0:
			call.Error = "no response"
		case c.Status >= 400:
			call.Error = fmt.Sprintf("status %d", c.Status)
		}
		t.evidence.Calls = append(t.evidence.Calls, call)
		cell.Calls++
		if c.Mutating {
			cell.Changes++
		}
	}
}

// collectEvents adds the Events of an object to the evidence, and returns them.
func (t *Trial) collectEvents(ctx context.Context, kind, namespace, name string) ([]v1.Event, error) {
	list, err := t.events(ctx, kind, namespace, name)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		t.evidence.Events = append(t.evidence.Events, report.Event{
			Seconds: lab.Seconds(max(0, lab.EventTime(e).Sub(t.started))), Type: e.Type, Reason: e.Reason,
			Object: kind + " " + name, Message: e.Message,
		})
	}
	return list, nil
}

// events returns the Events of an object since the trial started, oldest first.
func (t *Trial) events(ctx context.Context, kind, namespace, name string) ([]v1.Event, error) {
	list, err := t.cluster.Plane.Client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.kind=" + kind + ",involvedObject.name=" + name,
	})
	if err != nil {
		return nil, err
	}
	since := t.started.Truncate(time.Second) // The times of Events are whole seconds.
	out := slices.DeleteFunc(list.Items, func(e v1.Event) bool {
		return e.InvolvedObject.Namespace != namespace || lab.EventTime(e).Before(since) || isFromAPIServer(e)
	})
	slices.SortStableFunc(out, func(a, b v1.Event) int { return lab.EventTime(a).Compare(lab.EventTime(b)) })
	return out, nil
}

// isFromAPIServer reports whether the API server itself recorded an Event, such as one about a cluster IP.
func isFromAPIServer(e v1.Event) bool {
	return strings.HasSuffix(cmp.Or(e.ReportingController, e.Source.Component), "-repair-controller")
}

// objects converts objects for the report.
func objects(list []world.Object) []report.Object {
	out := make([]report.Object, 0, len(list))
	for _, o := range list {
		out = append(out, report.Object{Kind: o.Kind, Name: o.Name, ID: o.ID, Fields: o.Fields})
	}
	return out
}
