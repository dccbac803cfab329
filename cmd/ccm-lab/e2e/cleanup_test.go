package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
)

// wipe deletes the objects of a test and its managers from the API server, so that the next test finds it empty.
// Managers must have ended.
func (c *cluster) wipe() error {
	ctx, cancel := c.cleanupContext()
	defer cancel()
	core := c.plane.Client.CoreV1()
	return errors.Join(
		c.wipeServices(ctx),
		core.Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}),
		c.wipeLeases(ctx),
		c.wipeEvents(ctx),
	)
}

func (c *cluster) wipeServices(ctx context.Context) error {
	services := c.plane.Client.CoreV1().Services(namespace)
	list, err := services.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var errs []error
	for _, svc := range list.Items {
		if svc.Name == "kubernetes" {
			continue // The API server creates it again.
		}
		if len(svc.Finalizers) > 0 {
			_, err := services.Patch(ctx, svc.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			errs = append(errs, ignoreNotFound(err))
		}
		errs = append(errs, ignoreNotFound(services.Delete(ctx, svc.Name, metav1.DeleteOptions{})))
	}
	return errors.Join(errs...)
}

// leases returns the names of the managers' leases.
func (c *cluster) leases(ctx context.Context) ([]string, error) {
	list, err := c.plane.Client.CoordinationV1().Leases(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, lease := range list.Items {
		if strings.HasPrefix(lease.Name, leaseName) {
			names = append(names, lease.Name)
		}
	}
	return names, nil
}

func (c *cluster) wipeLeases(ctx context.Context) error {
	names, err := c.leases(ctx)
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, ignoreNotFound(c.plane.Client.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(ctx, name, metav1.DeleteOptions{})))
	}
	return errors.Join(errs...)
}

func (c *cluster) wipeEvents(ctx context.Context) error {
	var errs []error
	for _, ns := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		errs = append(errs, c.plane.Client.CoreV1().Events(ns).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	}
	return errors.Join(errs...)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

const (
	reportedLines  = 40
	reportedEvents = 40
	reportedCalls  = 25
)

// report prints what is needed first to analyse a failure.
func (c *cluster) report() {
	ctx, cancel := c.cleanupContext()
	defer cancel()
	var b strings.Builder
	for _, log := range c.logs {
		if lines := lab.Tail(log, reportedLines); len(lines) > 0 {
			fmt.Fprintf(&b, "\n--- end of %s\n%s\n", log, strings.Join(lines, "\n"))
		}
	}
	events, err := c.plane.Client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintf(&b, "\n--- no Events: %v\n", err)
	} else {
		fmt.Fprintf(&b, "\n--- Events (%d)\n", len(events.Items))
		for _, e := range events.Items[max(0, len(events.Items)-reportedEvents):] {
			fmt.Fprintf(&b, "%s %s/%s %s: %s\n", e.Type, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
	calls := c.calls(0)
	fmt.Fprintf(&b, "\n--- cloud: %v; %d calls: %s\n", c.world.Objects(), len(calls), tally(calls))
	for _, call := range calls[max(0, len(calls)-reportedCalls):] {
		fmt.Fprintf(&b, "%d %s %s: status %d %s\n", call.Seq, call.At.Format("15:04:05.000"), call.Name, call.Status, call.Fault)
	}
	c.t.Log(b.String())
}
