package classic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

// kindListeners is the kind in plans. One call creates or deletes all that change.
const kindListeners = "listeners"

// listenerKind are the listeners that change in place. All else of a listener is set at its creation.
var listenerKind = rows.Kind[*Listener, *Listener]{
	Name: "listener",
	Key:  func(l *Listener) string { return strconv.Itoa(int(l.Port)) },
	Rows: rows.InPlace([]rows.Row[*Listener, *Listener]{
		{Name: "certificate", Value: rows.Text(func(l *Listener) *string { return &l.Certificate })},
	}),
}

// desireListeners returns one listener for each port.
func desireListeners(in intent.Service, o annotation.Options, problems *intent.Problems) []Listener {
	listeners := make([]Listener, 0, len(in.Ports))
	for i, port := range in.Ports {
		if port.Protocol != v1.ProtocolTCP {
			problems.Addf(fmt.Sprintf("spec.ports[%d].protocol", i), string(port.Protocol),
				"classic load balancers forward TCP only: write TCP, or set %s to nlb on a new Service", annotation.KeyType)
			continue
		}
		l := Listener{Port: port.Port, InstancePort: port.NodePort, Protocol: protocolTCP, InstanceProtocol: protocolTCP}
		backend := o.BackendProtocol
		if port.ForwardedHeaders {
			backend = cmp.Or(backend, "http") // HTTP listeners add the headers
		}
		switch {
		case o.TLSPort(port.Name, port.Port):
			l.Certificate = o.Certificates[0]
			l.Protocol, l.InstanceProtocol = encryptedProtocols(backend)
		case backend == "http":
			l.Protocol, l.InstanceProtocol = protocolHTTP, protocolHTTP
		}
		listeners = append(listeners, l)
	}
	sorting.Func(listeners, compareListeners)
	return listeners
}

// encryptedProtocols returns the protocols of a listener with a certificate, on both sides: the clients' side
// is of the same layer as that of the nodes.
func encryptedProtocols(backend string) (frontend, instance string) {
	switch backend {
	case "http":
		return protocolHTTPS, protocolHTTP
	case "https":
		return protocolHTTPS, protocolHTTPS
	case "ssl":
		return protocolSSL, protocolSSL
	default:
		return protocolSSL, protocolTCP
	}
}

// diffListeners plans the listeners. A listener that gets another protocol or node port has to be
// replaced; between the two calls its port is closed. Those that nothing replaces are deleted by a change of their own,
// which AWS does not refuse.
func (d *differ) diffListeners(have []Listener) {
	var added, replaced, before, surplus []Listener
	for _, want := range d.want.Listeners {
		i := slices.IndexFunc(have, func(l Listener) bool { return l.Port == want.Port })
		switch {
		case i < 0:
			added = append(added, want)
		case !have[i].sameImmutableFields(want):
			replaced = append(replaced, want)
			before = append(before, have[i])
		case !strings.EqualFold(have[i].Certificate, want.Certificate):
			change, _ := listenerKind.Update(&have[i], &want)
			change.Step = certificateUpdate{want.Port, want.Certificate, d.advice()}
			d.add(change)
		}
	}
	for _, l := range have {
		if !hasPort(d.want.Listeners, l.Port) {
			surplus = append(surplus, l)
		}
	}
	want := slices.Concat(added, replaced)
	sorting.Func(want, compareListeners)
	creation := d.listenersRef(plan.Create)
	if len(surplus) > 0 {
		var after []plan.Ref
		if len(replaced) == 0 && len(added) > 0 {
			after = []plan.Ref{creation} // the load balancer is never without a listener
		}
		d.add(d.listenersDelete(d.name+", removed", surplus, nil, nil, after))
	}
	var after []plan.Ref
	if len(replaced) > 0 {
		deletion := d.listenersDelete(d.name, before, replaced, want, nil)
		d.add(deletion)
		after = []plan.Ref{deletion.Ref}
	}
	if len(want) > 0 {
		d.add(d.listenersCreate(want, before, after))
		d.created = want
	}
}

// listenersCreate creates listeners. Some replace those before, which are deleted.
func (d *differ) listenersCreate(want, before []Listener, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    d.listenersRef(plan.Create),
		Fields: []plan.Field{{Name: "listeners", After: showListeners(want)}},
		After:  after,
		Step:   listenersCreation{want: want, before: before, advice: d.advice()},
	}
}

// listenersCreation creates listeners. Those before of the same ports are deleted.
type listenersCreation struct {
	want, before []Listener
	// policies are made afterwards, unless AWS refuses some of the listeners.
	policies []policiesStep
	advice   advice
}

// policiesStep sets the policies of listeners that exist.
type policiesStep interface {
	plan.Step[writer]
	isOf(l Listener) bool
}

// Do implements plan.Step. If AWS refuses some of the listeners, it creates the others with their policies, for which
// the plan ends too early, and those before of the ports of the refused ones, which would stay closed.
func (s listenersCreation) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	refused, err := w.createListeners(ctx, s.want, s.advice.classify)
	if len(refused) > 0 {
		err = errors.Join(err, s.setPolicies(ctx, w, ids, refused))
	}
	before := slices.DeleteFunc(slices.Clone(s.before), func(l Listener) bool { return !hasPort(refused, l.Port) })
	if len(before) > 0 {
		err = w.restore(ctx, kindListeners, textsOf(refused), err, func(ctx context.Context) error {
			return w.restoreListeners(ctx, before)
		})
	}
	return w.finishBalancer(err, func(b *Balancer) {
		w.store.refusals.Forget(w.name, kindListeners)
		for _, l := range s.want {
			b.Listeners = slices.DeleteFunc(slices.Clone(b.Listeners), func(x Listener) bool { return x.Port == l.Port })
			b.Listeners = append(b.Listeners, l)
		}
		sorting.Func(b.Listeners, compareListeners)
	})
}

// setPolicies makes the policies of the listeners that AWS has not refused. Without them, nodes would not get the PROXY
// protocol, or clients another TLS policy, until the cause of the refusal ends.
func (s listenersCreation) setPolicies(ctx context.Context, w writer, ids *plan.Handles, refused []Listener) error {
	var errs []error
	for _, step := range s.policies {
		made := func(l Listener) bool { return step.isOf(l) && !hasPort(refused, l.Port) }
		if slices.ContainsFunc(s.want, made) {
			errs = append(errs, step.Do(ctx, w, ids))
		}
	}
	return errors.Join(errs...)
}

// createListeners creates listeners with one call. AWS refuses all for one of them: then each gets a call of its own.
// It returns those that AWS refused, and the errors.
func (w writer) createListeners(ctx context.Context, listeners []Listener,
	classify func(operation string, err error) error) (refused []Listener, err error) {
	_, err = w.api.CreateLoadBalancerListeners(ctx,
		&elb.CreateLoadBalancerListenersInput{LoadBalancerName: &w.name, Listeners: toListeners(listeners)})
	err = classify("CreateLoadBalancerListeners", err)
	switch {
	case !awserr.IsRefusal(err):
		return nil, err
	case len(listeners) == 1:
		return listeners, err
	}
	var errs []error
	for _, l := range listeners {
		one, err := w.createListeners(ctx, []Listener{l}, classify)
		refused, errs = append(refused, one...), append(errs, err)
	}
	return refused, errors.Join(errs...)
}

// restoreListeners creates deleted listeners again, as they were.
func (w writer) restoreListeners(ctx context.Context, before []Listener) error {
	refused, err := w.createListeners(ctx, before, awserr.Wrap)
	if err != nil && len(refused) == 0 {
		return err
	}
	errs := []error{err}
	for _, l := range before {
		if len(l.Policies) == 0 || hasPort(refused, l.Port) {
			continue
		}
		_, err := w.api.SetLoadBalancerPoliciesOfListener(ctx, &elb.SetLoadBalancerPoliciesOfListenerInput{
			LoadBalancerName: &w.name, LoadBalancerPort: l.Port, PolicyNames: l.Policies,
		})
		errs = append(errs, awserr.Wrap("SetLoadBalancerPoliciesOfListener", err))
	}
	return errors.Join(errs...)
}

// hasPort reports whether one of the listeners has a port.
func hasPort(listeners []Listener, port int32) bool {
	return slices.ContainsFunc(listeners, func(l Listener) bool { return l.Port == port })
}

// listenersDelete deletes listeners. Those of replacements, which are among all that are created, get their ports.
func (d *differ) listenersDelete(name string, listeners, replacements, created []Listener,
	after []plan.Ref) plan.Change {
	sorting.Func(listeners, compareListeners)
	step := listenersDeletion{ports: api.Convert(listeners, func(l Listener) int32 { return l.Port })}
	if len(replacements) > 0 {
		step.created, step.foreign = created, foreignCertificate(created, d.want.Zones)
	}
	change := plan.Change{Ref: plan.Ref{Kind: kindListeners, Name: name, Action: plan.Delete}, Key: d.name, After: after,
		Step: step}
	for _, l := range listeners {
		field := plan.Field{Name: listenerField(l.Port), Before: l.String()}
		if i := slices.IndexFunc(replacements, func(r Listener) bool { return r.Port == l.Port }); i >= 0 {
			field.After = replacements[i].String()
		}
		change.Fields = append(change.Fields, field)
	}
	deletesListeners.Declare(&change)
	return change
}

// listenersDeletion deletes the listeners of ports.
type listenersDeletion struct {
	ports []int32
	// created are the listeners that are created afterwards if some replace the deleted ones, foreign is a certificate of
	// theirs in another region.
	created []Listener
	foreign string
}

// Do implements plan.Step. It fails before it closes a port whose next listener AWS refuses.
func (s listenersDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	if s.foreign != "" {
		return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "CreateLoadBalancerListeners",
			Err: fmt.Errorf("%s is %s: write the ARN of a certificate of this region and account", annotation.KeyCertificates,
				intent.Quote(s.foreign))}
	}
	if err := w.store.refusals.Of(w.name, kindListeners, textsOf(s.created)); err != nil {
		return err
	}
	_, err := w.api.DeleteLoadBalancerListeners(ctx,
		&elb.DeleteLoadBalancerListenersInput{LoadBalancerName: &w.name, LoadBalancerPorts: s.ports})
	return w.finishBalancer(awserr.Wrap("DeleteLoadBalancerListeners", err), func(b *Balancer) {
		b.Listeners = slices.DeleteFunc(slices.Clone(b.Listeners), func(l Listener) bool {
			return slices.Contains(s.ports, l.Port)
		})
	})
}

// listenerField is the name of the field of the listener of a port.
func listenerField(port int32) string { return fieldListener + " " + strconv.Itoa(int(port)) }

// certificateUpdate replaces a listener's certificate without an interruption.
type certificateUpdate struct {
	port        int32
	certificate string
	advice      advice
}

// Do implements plan.Step.
func (s certificateUpdate) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	_, err := w.api.SetLoadBalancerListenerSSLCertificate(ctx, &elb.SetLoadBalancerListenerSSLCertificateInput{
		LoadBalancerName: &w.name, LoadBalancerPort: s.port, SSLCertificateId: &s.certificate,
	})
	return w.finishBalancer(s.advice.classify("SetLoadBalancerListenerSSLCertificate", err), func(b *Balancer) {
		b.changeListener(s.port, func(l *Listener) { l.Certificate = s.certificate })
	})
}

func (d *differ) listenersRef(action plan.Action) plan.Ref {
	return plan.Ref{Kind: kindListeners, Name: d.name, Action: action}
}

func showListeners(listeners []Listener) string {
	return strings.Join(api.Convert(listeners, Listener.String), ", ")
}
