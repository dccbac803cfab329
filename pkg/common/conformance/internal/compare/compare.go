// Package compare compares load balancers in portable terms with their Services.
package compare

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// Balancer compares a load balancer of a world with its Service.
func Balancer(svc *v1.Service, members []string, lb world.LoadBalancer, in any) error {
	_, keepsPorts := in.(world.PortKeeper)
	var errs []error
	if want := svc.Annotations[intent.KeyScheme] == string(intent.Internal); lb.Internal != want {
		errs = append(errs, fmt.Errorf("load balancer %s: internal is %t, want %t", lb.Name, lb.Internal, want))
	}
	have := map[string]world.Listener{}
	for _, l := range lb.Listeners {
		name := fmt.Sprintf("%s %d", l.Protocol, l.Port)
		if _, duplicate := have[name]; duplicate {
			errs = append(errs, fmt.Errorf("load balancer %s: listener %s exists twice", lb.Name, name))
		}
		have[name] = l
	}
	for _, p := range svc.Spec.Ports {
		name := fmt.Sprintf("%s %d", p.Protocol, p.Port)
		l, ok := have[name]
		if !ok {
			errs = append(errs, fmt.Errorf("load balancer %s: listener %s is missing", lb.Name, name))
			continue
		}
		delete(have, name)
		errs = append(errs, steps.Wrap(fmt.Sprintf("load balancer %s: listener %s", lb.Name, name),
			compareListener(svc, p, members, memberPort(p, keepsPorts), l)))
	}
	for name := range have {
		errs = append(errs, fmt.Errorf("load balancer %s: listener %s should not exist", lb.Name, name))
	}
	return errors.Join(errs...)
}

// memberPort returns the port at which members must receive the traffic of a port.
func memberPort(p v1.ServicePort, keepsPorts bool) int32 {
	if keepsPorts {
		return 0
	}
	return p.NodePort
}

func compareListener(svc *v1.Service, p v1.ServicePort, members []string, port int32, l world.Listener) error {
	var errs []error
	if l.MemberPort != port && len(l.Members) > 0 {
		errs = append(errs, fmt.Errorf("traffic goes to port %d, want node port %d", l.MemberPort, port))
	}
	if !slices.Equal(Sorted(l.Members), members) {
		errs = append(errs, fmt.Errorf("members are %v, want %v", l.Members, members))
	}
	if have, want := OpenTo(l.SourceRanges), RangesAt(svc, p); !slices.Equal(have, want) {
		errs = append(errs, fmt.Errorf("source ranges are %v, want %v", have, want))
	}
	in, at := intentAt(svc, p)
	if want := in.TLS.Certificate != "" && in.TLS.Selector()(at); l.TLS != want {
		errs = append(errs, fmt.Errorf("TLS is %t, want %t", l.TLS, want))
	}
	if l.ForwardedHeaders != at.ForwardedHeaders {
		errs = append(errs, fmt.Errorf("forwarded headers are %t, want %t", l.ForwardedHeaders, at.ForwardedHeaders))
	}
	if want := in.DrainingTimeout; want != nil && l.Draining != *want {
		errs = append(errs, fmt.Errorf("draining time is %s, want %s", l.Draining, *want))
	}
	return errors.Join(errs...)
}

// RangesAt returns the source ranges that a Service has for one port; nil for all clients.
func RangesAt(svc *v1.Service, port v1.ServicePort) []string {
	in, at := intentAt(svc, port)
	var out []string
	for _, prefix := range in.RangesAt(at) {
		out = append(out, prefix.String())
	}
	return OpenTo(out)
}

// intentAt returns the settings of a Service, and of one of its ports.
func intentAt(svc *v1.Service, port v1.ServicePort) (in intent.Service, at intent.Port) {
	read, _, _ := intent.Read(svc, intent.Vocabulary{Portable: intent.Keys(), SCTP: true}) // other settings may be invalid
	for _, p := range read.Ports {
		if p.Port == port.Port && p.Protocol == port.Protocol {
			at = p
		}
	}
	return read, at
}

// OpenTo normalises source ranges: nil stands for all clients.
func OpenTo(ranges []string) []string {
	if slices.Contains(ranges, "0.0.0.0/0") {
		return nil
	}
	return Sorted(ranges)
}

// Describe names load balancers with their addresses.
func Describe(lbs []world.LoadBalancer) string {
	if len(lbs) == 0 {
		return "none"
	}
	var out []string
	for _, lb := range lbs {
		out = append(out, fmt.Sprintf("%s (%s)", lb.Name, strings.Join(lb.Addresses, ", ")))
	}
	return strings.Join(out, "; ")
}

// Counts returns the differences between two numbers of objects by kind.
func Counts(want, have map[string]int) error {
	var errs []error
	for _, kind := range sets.List(sets.KeySet(want).Union(sets.KeySet(have))) {
		if want[kind] != have[kind] {
			errs = append(errs, fmt.Errorf("the world has %d %s, want %d", have[kind], kind, want[kind]))
		}
	}
	return errors.Join(errs...)
}

// NonZero returns the kinds of which there are objects.
func NonZero(counts map[string]int) map[string]int {
	out := maps.Clone(counts)
	maps.DeleteFunc(out, func(_ string, n int) bool { return n == 0 })
	return out
}

// Sorted returns a sorted copy.
func Sorted(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return out
}
