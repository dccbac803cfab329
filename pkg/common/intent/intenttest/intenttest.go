// Package intenttest checks the Events about annotations, for the tests of every provider.
package intenttest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// VerifyRefused fails the test unless err has a problem with every annotation of a refused Service. harmless are keys
// that accept every value. It returns the Event, in the form of the framework's service controller, and below it the
// problems for which the Event has no room.
func VerifyRefused(t testing.TB, err error, annotations map[string]string, harmless map[string]bool) (event string) {
	t.Helper()
	if err == nil {
		t.Error("invalid values are accepted")
		return ""
	}
	for key := range annotations {
		if !harmless[key] && !intent.HasProblem(err, key) {
			t.Errorf("the error does not name %s", key)
		}
	}
	event = fmt.Sprintf("Warning SyncLoadBalancerFailed Error syncing load balancer: failed to ensure load balancer: %v",
		err)
	if problems := (*intent.ProblemsError)(nil); errors.As(err, &problems) {
		for _, problem := range problems.Problems {
			if !strings.Contains(event, problem.String()) {
				event += "\n  " + problem.String()
			}
		}
	}
	return event
}

// VerifySuggestions fails the test unless an Event suggests the right key for typos in each of the keys. events
// returns the Events of a Service with a misspelt annotation.
func VerifySuggestions(t testing.TB, keys []string, events func(typo string) []string) {
	t.Helper()
	for _, key := range keys {
		for name, typo := range map[string]string{
			"last letter missing": key[:len(key)-1],
			"a letter twice":      key[:len(key)-3] + key[len(key)-3:len(key)-2] + key[len(key)-3:],
		} {
			got, want := strings.Join(events(typo), "\n"), "did you mean "+key+"?"
			if !strings.Contains(got, typo+": ") || !strings.Contains(got, want) {
				t.Errorf("%s, %s: no event contains %q: %s", typo, name, want, got)
			}
		}
	}
}

// InvalidValue is a value of a portable setting that a provider refuses.
type InvalidValue struct {
	// Setting is the key of the portable annotation; Value is an invalid value for it.
	Setting, Value string
	// Annotations are other annotations of the Service, without which the value would be valid.
	Annotations map[string]string
}

// VerifySources fails the test unless a problem with a portable setting names the field or annotation
// that the user wrote, for every way in which the setting can be written. refuse returns the error of
// a Service; invalid covers every portable annotation. The cloud ignores some settings, with a warning.
func VerifySources(t testing.TB, invalid []InvalidValue, service func() *v1.Service, refuse func(*v1.Service) error,
	ignored ...string) {
	t.Helper()
	covered := map[string]bool{}
	for _, b := range invalid {
		covered[b.Setting] = true
		if slices.Contains(ignored, b.Setting) {
			continue
		}
		for source, write := range writers(b.Setting) {
			svc := service()
			if svc.Annotations == nil {
				svc.Annotations = map[string]string{}
			}
			maps.Copy(svc.Annotations, b.Annotations)
			write(svc, b.Value)
			var problems *intent.ProblemsError
			if err := refuse(svc); !errors.As(err, &problems) {
				t.Errorf("%s=%s: no problem is reported: %v", source, b.Value, err)
				continue
			}
			for _, p := range problems.Problems {
				if p.Field != source {
					t.Errorf("%s=%s: the problem names %s: %s", source, b.Value, p.Field, p)
				}
			}
		}
	}
	for _, key := range intent.Keys() {
		if !covered[key] {
			t.Errorf("no invalid value of %s is tried", key)
		}
	}
}

// writers returns the functions that write a portable setting into a Service, by what a problem names.
func writers(setting string) map[string]func(svc *v1.Service, value string) {
	annotate := func(key string) func(*v1.Service, string) {
		return func(svc *v1.Service, value string) { svc.Annotations[key] = value }
	}
	all := map[string]func(*v1.Service, string){setting: annotate(setting)}
	switch setting {
	case intent.KeyStaticAddresses:
		all["spec.loadBalancerIP"] = func(svc *v1.Service, value string) { svc.Spec.LoadBalancerIP = value }
	case intent.KeySourceRanges:
		all[v1.AnnotationLoadBalancerSourceRangesKey] = annotate(v1.AnnotationLoadBalancerSourceRangesKey)
		all["spec.loadBalancerSourceRanges"] = func(svc *v1.Service, value string) {
			svc.Spec.LoadBalancerSourceRanges = strings.Split(value, ",")
		}
	}
	return all
}

// FieldNames returns the names of all fields of Services that a provider reads: see intent.Service.Fields.
func FieldNames(vocabulary intent.Vocabulary) []string {
	names := slices.Concat(vocabulary.Portable, vocabulary.Own, []string{
		intent.FieldPorts, intent.FieldIPFamilies, intent.FieldLoadBalancerIP, intent.FieldSourceRanges,
		intent.FieldExternalTrafficPolicy, intent.FieldHealthCheckNodePort, intent.FieldSessionAffinity,
		v1.AnnotationLoadBalancerSourceRangesKey,
	})
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(vocabulary.Written, name) })
	slices.Sort(names)
	return slices.Compact(names)
}

// VerifyEffects fails the test if an effect disrupts no more than members: only those that do are declared.
func VerifyEffects(t testing.TB, effects []plan.Effect) {
	t.Helper()
	for _, e := range effects {
		if !e.Disrupts.Severe() {
			t.Errorf("the effect %q disrupts %q: declare only those that disrupt more than members", e.Change, e.Disrupts)
		}
	}
}

// InvalidValues returns a value of every portable setting that no provider accepts for an IPv4 Service.
func InvalidValues() []InvalidValue {
	http := map[string]string{intent.KeyHealthCheckProtocol: "HTTP"}
	return []InvalidValue{
		{Setting: intent.KeyScheme, Value: "private"},
		{Setting: intent.KeySourceRanges, Value: "ten,10.0.0.0/33"},
		{Setting: intent.KeySourceRanges, Value: "2001:db8::/32"},
		{Setting: intent.KeyPortSourceRanges, Value: "none=10.0.0.0/8; 80=ten"},
		{Setting: intent.KeyProxyProtocol, Value: "v3"},
		{Setting: intent.KeyAlgorithm, Value: "random"},
		{Setting: intent.KeyTLSCertificate, Value: "two, references"},
		{Setting: intent.KeyTLSPorts, Value: "htps"},
		{Setting: intent.KeyForwardedHeaders, Value: "81"},
		{Setting: intent.KeyConnectionDrainingTimeout, Value: "2h"},
		{Setting: intent.KeyHealthCheckProtocol, Value: "ping"},
		{Setting: intent.KeyHealthCheckPort, Value: "0"},
		{Setting: intent.KeyHealthCheckPath, Value: "healthz", Annotations: http},
		{Setting: intent.KeyHealthCheckInterval, Value: "10"},
		{Setting: intent.KeyHealthCheckTimeout, Value: "2h"},
		{Setting: intent.KeyHealthCheckHealthyThreshold, Value: "0"},
		{Setting: intent.KeyHealthCheckUnhealthyThreshold, Value: "11"},
		{Setting: intent.KeyIdleTimeout, Value: "never"},
		{Setting: intent.KeyStaticAddresses, Value: "2001:db8::7"},
		{Setting: intent.KeyTags, Value: "team"},
		{Setting: intent.KeySubnets, Value: "a,,b"},
	}
}
