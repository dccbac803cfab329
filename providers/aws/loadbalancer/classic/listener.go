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
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/refusal"
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
		case i < 0, have[i].Removed && have[i].sameImmutableFields(want):
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
		if !hasPort(d.want.Listeners, l.Port) && !l.Removed {
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
		change := d.listenersDelete(d.name+", removed", surplus, nil)
		change.After, change.Step = after, listenersDeletion{portsOf(surplus)}
		d.add(change)
	}
	var after []plan.Ref
	if len(replaced) > 0 {
		replacement := d.listenersReplace(d.name, before, want)
		d.add(replacement)
		after = []plan.Ref{replacement.Ref}
	}
	if len(want) > 0 {
		d.add(d.listenersCreate(want, after))
		d.created = want
	}
}

// listenersCreate creates listeners, those that replace others after these are deleted.
func (d *differ) listenersCreate(want []Listener, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    d.listenersRef(plan.Create),
		Fields: []plan.Field{{Name: "listeners", After: showListeners(want)}},
		After:  after,
		Step:   listenersCreation{want: want, advice: d.advice()},
	}
}

// listenersCreation creates listeners.
type listenersCreation struct {
	want []Listener
	// policies are made afterwards, unless the plan ends before.
	policies []policiesStep
	advice   advice
}

// policiesStep sets the policies of listeners that exist.
type policiesStep interface {
	plan.Step[writer]
	isOf(l Listener) bool
}

// listenerMade is set in the handles of a plan once the replacement of the listener of a port is made.
func listenerMade(port int32) plan.Handle { return plan.Handle(listenerField(port)) }

// Do implements plan.Step. If AWS refuses some of the listeners, it sets the policies of the others, for which the plan
// ends too early.
func (s listenersCreation) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	s.want = slices.DeleteFunc(slices.Clone(s.want), func(l Listener) bool { return ids.Has(listenerMade(l.Port)) })
	if len(s.want) == 0 {
		return nil
	}
	made, refused, err := w.createListeners(ctx, s.want, func(ctx context.Context, in []Listener) error {
		return w.createOnce(ctx, in, s.advice.classify)
	})
	w.recordListeners(made)
	if len(refused) > 0 {
		err = errors.Join(w.restoreRefused(ctx, refused, err), s.setPolicies(ctx, w, ids, made))
	}
	return w.finish(err, func(*store) {})
}

// setPolicies makes the policies of listeners. Without them, nodes would not get the PROXY protocol, or clients another
// TLS policy, until the plan is made again.
func (s listenersCreation) setPolicies(ctx context.Context, w writer, ids *plan.Handles, made []Listener) error {
	var errs []error
	for _, step := range s.policies {
		if slices.ContainsFunc(made, step.isOf) {
			errs = append(errs, step.Do(ctx, w, ids))
		}
	}
	return errors.Join(errs...)
}

// createOnce creates listeners with one call.
func (w writer) createOnce(ctx context.Context, listeners []Listener,
	classify func(operation string, err error) error) error {
	_, err := w.api.CreateLoadBalancerListeners(ctx,
		&elb.CreateLoadBalancerListenersInput{LoadBalancerName: &w.name, Listeners: toListeners(listeners)})
	return classify("CreateLoadBalancerListeners", err)
}

// createListeners creates listeners. AWS refuses all for one of them: then each gets a call of its own. It returns
// those that exist now, those that AWS refused, and the errors.
func (w writer) createListeners(ctx context.Context, listeners []Listener,
	create func(context.Context, []Listener) error) (made, refused []Listener, err error) {
	err = create(ctx, listeners)
	switch {
	case err == nil:
		return listeners, nil, nil
	case !awserr.IsRefusal(err):
		return nil, nil, err
	case len(listeners) == 1:
		return nil, listeners, err
	}
	var errs []error
	for _, l := range listeners {
		oneMade, oneRefused, err := w.createListeners(ctx, []Listener{l}, create)
		made, refused, errs = append(made, oneMade...), append(refused, oneRefused...), append(errs, err)
	}
	return made, refused, errors.Join(errs...)
}

// recordListeners records created listeners.
func (w writer) recordListeners(made []Listener) {
	w.store.unfinished.Made(w.name, api.Convert(made, Listener.place)...)
	w.store.balancers.Update(w.name, func(b *Balancer) {
		for _, l := range made {
			b.Listeners = slices.DeleteFunc(slices.Clone(b.Listeners), func(x Listener) bool { return x.Port == l.Port })
			b.Listeners = append(b.Listeners, l)
		}
		sorting.Func(b.Listeners, compareListeners)
	})
}

// restoreRefused gives the ports of refused listeners the listeners before, if these were deleted for them, instead of
// leaving them closed. It returns the error of the refusal.
func (w writer) restoreRefused(ctx context.Context, refused []Listener, err error) error {
	before := api.Convert(w.store.unfinished.Removed(w.name, api.Convert(refused, Listener.place)...),
		func(r removed) Listener { return r.listener })
	if len(before) == 0 {
		return err
	}
	refused = slices.DeleteFunc(slices.Clone(refused), func(l Listener) bool { return !hasPort(before, l.Port) })
	err = w.store.unfinished.Add(w.name, textsOf(refused, nil, nil), err)
	return refusal.Restore(ctx, w.clock, kindListeners, err, func(ctx context.Context) error {
		return w.restoreListeners(ctx, before)
	})
}

// restoreListeners creates deleted listeners again, as they were.
func (w writer) restoreListeners(ctx context.Context, before []Listener) error {
	made, _, err := w.createListeners(ctx, before, func(ctx context.Context, in []Listener) error {
		return w.createOnce(ctx, in, awserr.Wrap)
	})
	errs := []error{err}
	for _, l := range made {
		w.store.unfinished.Restored(w.name, l.place())
		if len(l.Policies) == 0 {
			continue
		}
		_, err := w.api.SetLoadBalancerPoliciesOfListener(ctx, &elb.SetLoadBalancerPoliciesOfListenerInput{
			LoadBalancerName: &w.name, LoadBalancerPort: l.Port, PolicyNames: l.Policies,
		})
		errs = append(errs, awserr.Wrap("SetLoadBalancerPoliciesOfListener", err))
	}
	return errors.Join(errs...)
}

// portsOf returns the ports of listeners.
func portsOf(listeners []Listener) []int32 {
	return api.Convert(listeners, func(l Listener) int32 { return l.Port })
}

// listenersDelete deletes listeners. Those of next get their ports.
func (d *differ) listenersDelete(name string, listeners, next []Listener) plan.Change {
	sorting.Func(listeners, compareListeners)
	change := plan.Change{Ref: plan.Ref{Kind: kindListeners, Name: name, Action: plan.Delete}, Key: d.name}
	for _, l := range listeners {
		field := plan.Field{Name: listenerField(l.Port), Before: l.String()}
		if i := slices.IndexFunc(next, func(n Listener) bool { return n.Port == l.Port }); i >= 0 {
			field.After = next[i].String()
		}
		change.Fields = append(change.Fields, field)
	}
	deletesListeners.Declare(&change)
	return change
}

// listenersDeletion deletes the listeners of ports.
type listenersDeletion struct{ ports []int32 }

// Do implements plan.Step.
func (s listenersDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	return w.deleteListeners(ctx, s.ports)
}

func (w writer) deleteListeners(ctx context.Context, ports []int32) error {
	_, err := w.api.DeleteLoadBalancerListeners(ctx,
		&elb.DeleteLoadBalancerListenersInput{LoadBalancerName: &w.name, LoadBalancerPorts: ports})
	return w.finishBalancer(awserr.Wrap("DeleteLoadBalancerListeners", err), func(b *Balancer) {
		b.Listeners = slices.DeleteFunc(slices.Clone(b.Listeners), func(l Listener) bool {
			return slices.Contains(ports, l.Port)
		})
	})
}

// listenersReplace replaces listeners by those of want at their ports. It creates the others of want as well.
func (d *differ) listenersReplace(name string, before, want []Listener) plan.Change {
	change := d.listenersDelete(name, before, want)
	step := listenersReplacement{before: before, creation: listenersCreation{want: want, advice: d.advice()}}
	for _, l := range want {
		if l.isForeign(d.want.Zones) {
			step.foreign = append(step.foreign, l.Port)
		}
	}
	change.Step = step
	return change
}

// listenersReplacement deletes listeners and creates others, some of them at the same ports. It is one step, because a
// plan ends between steps if another change fails or the process ends: the ports would stay closed, and nobody would
// know what was there.
type listenersReplacement struct {
	before   []Listener
	creation listenersCreation
	// foreign are the ports of listeners whose certificate is one of another region.
	foreign []int32
}

// Do implements plan.Step. A port whose next listener AWS refuses stays open.
func (s listenersReplacement) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	want, ports, errs := slices.Clone(s.creation.want), []int32(nil), []error(nil)
	for _, l := range s.before {
		i := slices.IndexFunc(want, func(next Listener) bool { return next.Port == l.Port })
		if l.Removed { // the port is closed
			continue
		}
		if err := s.refused(w, want[i]); err != nil {
			if !slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() }) {
				errs = append(errs, err)
			}
			want = slices.Delete(want, i, i+1)
			continue
		}
		ports = append(ports, l.Port)
		w.store.unfinished.Remove(w.name, l.place(), removed{listener: l})
	}
	if len(ports) > 0 {
		if err := w.deleteListeners(ctx, ports); err != nil {
			return errors.Join(append(errs, err)...)
		}
	}
	if len(want) > 0 {
		errs = append(errs, s.create(ctx, w, ids, want))
	}
	return errors.Join(errs...)
}

// refused returns the error with which AWS refuses a listener: always, or the last time.
func (s listenersReplacement) refused(w writer, next Listener) error {
	if slices.Contains(s.foreign, next.Port) {
		return next.foreignError()
	}
	return w.store.unfinished.Of(w.name, next.place(), next.text())
}

// create creates listeners with their policies, while ports are closed.
func (s listenersReplacement) create(ctx context.Context, w writer, ids *plan.Handles, want []Listener) error {
	made, refused, err := w.createListeners(ctx, want, func(ctx context.Context, in []Listener) error {
		return refusal.Insist(ctx, w.clock, func(ctx context.Context) error {
			err := w.createOnce(ctx, in, s.creation.advice.classify)
			if len(in) == 1 && hasPort(s.before, in[0].Port) && cloudapi.Is(err, cloudapi.AlreadyExists) {
				// AWS still has the listener that it has deleted.
				err = &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "CreateLoadBalancerListeners", Err: err}
			}
			return err
		})
	})
	for _, l := range made {
		ids.Set(listenerMade(l.Port), l.String())
	}
	w.recordListeners(made)
	err = errors.Join(w.restoreRefused(ctx, refused, err), s.creation.setPolicies(ctx, w, ids, made))
	return w.finish(err, func(*store) {})
}

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
