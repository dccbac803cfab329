package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/translation"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

const (
	// syncTimeout is the timeout for the first result of a Service, and ignoredTimeout the time after which a manager that
	// does nothing has ignored it.
	syncTimeout    = 30 * time.Second
	ignoredTimeout = 3 * time.Second
	// serviceName is the name of the Service of a trial.
	serviceName = "web"
)

// newService returns a Service of type LoadBalancer with TCP port 80.
func newService(edit ...func(*v1.Service)) *v1.Service {
	svc := &v1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: serviceName},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": serviceName},
			Ports: []v1.ServicePort{{Name: "http", Protocol: v1.ProtocolTCP, Port: 80}},
		},
	}
	for _, e := range edit {
		e(svc)
	}
	return svc
}

// withAnnotations sets annotations.
func withAnnotations(annotations ...string) func(*v1.Service) {
	return func(svc *v1.Service) {
		for i := 0; i+1 < len(annotations); i += 2 {
			metav1.SetMetaDataAnnotation(&svc.ObjectMeta, annotations[i], annotations[i+1])
		}
	}
}

// state is what exists for a Service.
type state struct {
	*Trial
	service *v1.Service
	// balancer is the load balancer with the Service's addresses; nil without one.
	balancer *world.LoadBalancer
	// created are the objects in the cloud that were created or changed since the trial started.
	created []world.Object
	events  []v1.Event
}

// apply creates or updates a Service, and waits for the result.
func (t *Trial) apply(ctx context.Context, svc *v1.Service) (*state, error) {
	svc = svc.DeepCopy()
	svc.Namespace = t.namespace
	for key, value := range t.Kind.ServiceAnnotations {
		if _, set := svc.Annotations[key]; !set {
			metav1.SetMetaDataAnnotation(&svc.ObjectMeta, key, value)
		}
	}
	if t.Manager.Binary != "" {
		if err := translation.Translate(svc, t.Provider, t.Kind.Name); err != nil {
			return nil, err
		}
	}
	first := t.evidence.Manifest == ""
	if err := t.manifest(svc); err != nil {
		return nil, err
	}
	if first {
		if err := t.plan(ctx); err != nil {
			return nil, err
		}
		t.begin()
		t.addCleanup(func(ctx context.Context) error { return t.deleteService(ctx, svc.Name) })
	}
	_, synced, err := t.syncs(ctx, svc.Name)
	if err != nil {
		return nil, err
	}
	if err := t.live.PutService(ctx, svc); err != nil {
		return nil, err
	}
	if err := t.awaitSync(ctx, svc.Name, synced); err != nil {
		return nil, err
	}
	return t.observe(ctx, svc.Name)
}

// Reasons of the Events with which the framework's service controller starts and ends a sync.
var (
	startReasons = []string{"EnsuringLoadBalancer", "DeletingLoadBalancer"}
	endReasons   = []string{"EnsuredLoadBalancer", "SyncLoadBalancerFailed", "DeletedLoadBalancer"}
)

// syncs counts the syncs of a Service that have started, and those that have ended.
func (t *Trial) syncs(ctx context.Context, name string) (started, ended int, err error) {
	events, err := t.events(ctx, "Service", t.namespace, name)
	return countEvents(events, startReasons), countEvents(events, endReasons), err
}

func countEvents(events []v1.Event, reasons []string) int {
	n := 0
	for _, e := range events {
		if slices.Contains(reasons, e.Reason) {
			n += int(max(e.Count, 1))
		}
	}
	return n
}

// awaitSync waits until a further sync has ended and the cloud is quiet, or the manager has ignored the Service. A sync
// that has started and not ended is an error: nothing can be observed yet.
func (t *Trial) awaitSync(ctx context.Context, name string, before int) error {
	timeout := syncTimeout
	svc, err := t.live.Service(ctx, t.namespace, name)
	if err != nil {
		return err
	}
	if t.unsupported(withoutBalancers) != "" || svc != nil && t.ignoresClass(svc) {
		timeout = ignoredTimeout
	}
	timeout = t.scaled(timeout)
	var started, ended int
	err = t.waitFor(ctx, timeout, func(ctx context.Context) (_ bool, err error) {
		started, ended, err = t.syncs(ctx, name)
		return ended > before, err
	})
	switch {
	case err != nil:
		return err
	case ended <= before && started > ended:
		return fmt.Errorf("the sync of Service %s has not ended within %s", name, timeout)
	}
	return t.waitUntilQuiet(ctx)
}

// ignoresClass reports whether the manager leaves a Service with a class to another controller.
func (t *Trial) ignoresClass(svc *v1.Service) bool {
	class := svc.Spec.LoadBalancerClass
	return class != nil && (len(t.ownArgs()) == 0 || *class != loadbalancer.ClassOf(t.Provider))
}

// observe reads the Service and what exists for it, and adds it to the evidence.
func (t *Trial) observe(ctx context.Context, name string) (*state, error) {
	svc, err := t.live.Service(ctx, t.namespace, name)
	if err != nil {
		return nil, err
	}
	s := &state{Trial: t, service: svc, created: world.ChangedObjects(t.before, t.inventory())}
	t.evidence.After, t.evidence.Events = objects(s.created), nil
	if s.events, err = t.collectEvents(ctx, "Service", t.namespace, name); err != nil || svc == nil {
		return s, err
	}
	status, err := yaml.Marshal(svc.Status)
	if err != nil {
		return nil, err
	}
	t.evidence.Status = string(status)
	addresses := statusAddresses(svc)
	for _, lb := range t.cluster.Cloud.World.LoadBalancers() {
		if len(addresses) > 0 && slices.Equal(slices.Sorted(slices.Values(lb.Addresses)), addresses) {
			s.balancer = &lb
		}
	}
	return s, nil
}

func statusAddresses(svc *v1.Service) []string {
	var out []string
	for _, in := range svc.Status.LoadBalancer.Ingress {
		out = append(out, cmp.Or(in.IP, in.Hostname))
	}
	slices.Sort(out)
	return out
}

// deleteService deletes a Service and waits until it is deleted.
func (t *Trial) deleteService(ctx context.Context, name string) error {
	if err := t.live.DeleteService(ctx, t.namespace, name); err != nil {
		return err
	}
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		svc, err := t.live.Service(ctx, t.namespace, name)
		return svc == nil, err
	})
	if err != nil {
		events, _ := t.events(ctx, "Service", t.namespace, name) // The first error counts.
		return fmt.Errorf("the Service is not deleted (%s): %w", warningOf(events), err)
	}
	return nil
}

// warningOf returns the last Warning Event as "reason: message".
func warningOf(events []v1.Event) string {
	for _, e := range slices.Backward(events) {
		if e.Type == v1.EventTypeWarning {
			return e.Reason + ": " + syncErrorPrefix.ReplaceAllString(e.Message, "")
		}
	}
	return ""
}

// syncErrorPrefix matches what the framework, and then ccm, put before every message about a Service.
var syncErrorPrefix = regexp.MustCompile(`^Error syncing load balancer: failed to ensure load balancer: (Service \S+: )?`)

// effect is the observable effect of a setting.
type effect func(s *state) []report.Check

// checkListeners checks the listeners.
func checkListeners(s *state) []report.Check {
	want := map[string]bool{}
	for _, p := range s.service.Spec.Ports {
		want[fmt.Sprintf("%s %d", p.Protocol, p.Port)] = true
	}
	var got []string
	for _, l := range s.balancer.Listeners {
		got = append(got, fmt.Sprintf("%s %d", l.Protocol, l.Port))
	}
	slices.Sort(got)
	wanted := slices.Sorted(maps.Keys(want))
	return []report.Check{s.check("listeners", strings.Join(wanted, ", "), strings.Join(got, ", "))}
}

// checkMembers checks that all shared nodes are members of every listener, at the node port.
func checkMembers(s *state) []report.Check {
	var out []report.Check
	for _, l := range s.balancer.Listeners {
		name := fmt.Sprintf("%s %d", l.Protocol, l.Port)
		members := slices.Sorted(slices.Values(l.Members))
		out = append(out, s.check("members of "+name, strings.Join(s.nodes, ", "), strings.Join(members, ", ")))
		for _, p := range s.service.Spec.Ports {
			if p.Port == l.Port && p.Protocol == l.Protocol {
				out = append(out, s.check("member port of "+name, nodePort, portOf(p, l)))
			}
		}
	}
	return out
}

// nodePort stands for the node port of a Service's port, which the API server chooses.
const nodePort = "the node port"

func portOf(p v1.ServicePort, l world.Listener) string {
	if p.NodePort == l.MemberPort || l.MemberPort == 0 { // 0 is the port of the Service, with which kube-proxy deals too
		return nodePort
	}
	return strconv.Itoa(int(l.MemberPort))
}

// allOf runs effects in order.
func allOf(effects ...effect) effect {
	return func(s *state) (out []report.Check) {
		for _, e := range effects {
			out = append(out, e(s)...)
		}
		return out
	}
}

// base is what every load balancer needs: its listeners, and the members of each.
func base(s *state) []report.Check { return append(checkListeners(s), checkMembers(s)...) }

// spec is a scenario about one Service.
type spec struct {
	// service returns the Service.
	service func(t *Trial) (*v1.Service, error)
	// effect is what the Service requests, beside the base of every load balancer; nil if that is the capability.
	effect effect
	// alternative is the same effect by other means, which difference describes in a sentence.
	alternative effect
	difference  string
}

// run applies the Service and compares the effect.
func (c spec) run(ctx context.Context, t *Trial) (report.Verdict, string, error) {
	svc, err := c.service(t)
	if err != nil {
		return "", "", err
	}
	s, err := t.apply(ctx, svc)
	if err != nil {
		return "", "", err
	}
	verdict, summary := s.decide(c)
	return verdict, summary, nil
}

// decide returns the verdict about the state.
func (s *state) decide(c spec) (report.Verdict, string) {
	o := observation{
		exists: s.balancer != nil, warning: warningOf(s.events), unsupported: s.unsupported(withoutBalancers),
		difference: c.difference,
	}
	if !o.exists {
		return decide(o)
	}
	o.effect = base(s)
	if c.effect != nil {
		o.broken = slices.DeleteFunc(o.effect, func(c report.Check) bool { return c.OK })
		o.effect = c.effect(s)
	}
	if c.alternative != nil && !allOK(o.effect) {
		o.alternative = c.alternative(s)
	}
	return decide(o)
}

func serviceWith(edit ...func(*v1.Service)) func(*Trial) (*v1.Service, error) {
	return func(*Trial) (*v1.Service, error) { return newService(edit...), nil }
}

func withPorts(list ...v1.ServicePort) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Spec.Ports = list }
}

func port(name string, protocol v1.Protocol, number int32) v1.ServicePort {
	return v1.ServicePort{Name: name, Protocol: protocol, Port: number}
}
