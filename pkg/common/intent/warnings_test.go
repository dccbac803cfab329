package intent

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

func TestReadWarnings(t *testing.T) {
	const own = "service.beta.kubernetes.io/aws-load-balancer-"
	aws := Vocabulary{
		Provider: "aws", Portable: Keys(),
		Own:             []string{own + "internal", own + "ssl-cert"},
		OwnPrefixes:     []string{own},
		ForeignPrefixes: map[string]string{"loadbalancer.openstack.org/": "openstack"},
	}
	nothing := Vocabulary{Provider: "bare"}
	local := func(svc *v1.Service) {
		svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	}
	for _, tc := range []struct {
		name  string
		vocab Vocabulary
		edits []func(*v1.Service)
		want  []string // "reason message"
	}{
		{"our own key", aws, []func(*v1.Service){annotated(own+"internal", "true")}, nil},
		{"unrelated keys", aws, []func(*v1.Service){annotated("team", "web", "kubernetes.io/x", "y")}, nil},
		{
			"a typo in our own key", aws, []func(*v1.Service){annotated(own+"ssl-crt", "arn")},
			[]string{"unknown " + own + "ssl-crt: the cloud aws has no such annotation, so it has no effect; did you mean " +
				own + "ssl-cert?"},
		},
		{
			"nothing like any of our own keys", aws, []func(*v1.Service){annotated(own+"target-group-attributes", "x")},
			[]string{"unknown " + own + "target-group-attributes: the cloud aws has no such annotation, so it has no effect; remove it"},
		},
		{
			"a typo in a key with a foreign prefix of this very cloud",
			Vocabulary{Provider: "gce", Portable: Keys(), ForeignPrefixes: map[string]string{"networking.gke.io/": "gce"}},
			[]func(*v1.Service){annotated("networking.gke.io/x", "y")},
			[]string{"unknown networking.gke.io/x: the cloud gce has no such annotation, so it has no effect; remove it"},
		},
		{
			"another cloud's key", aws, []func(*v1.Service){annotated("loadbalancer.openstack.org/flavor-id", "x")},
			[]string{"unsupported loadbalancer.openstack.org/flavor-id: it is for the cloud openstack and has no effect on aws"},
		},
		{
			"a typo in a portable key", aws, []func(*v1.Service){annotated(Prefix+"source-range", "10.0.0.0/8")},
			[]string{"unknown " + Prefix + "source-range: no such annotation, so it has no effect; did you mean " +
				KeySourceRanges + "?"},
		},
		{
			"unknown keys come sorted", aws, []func(*v1.Service){annotated(Prefix+"zzzzzz", "1", Prefix+"qqqqqq", "2")},
			[]string{
				"unknown " + Prefix + "qqqqqq: no such annotation, so it has no effect; remove it",
				"unknown " + Prefix + "zzzzzz: no such annotation, so it has no effect; remove it",
			},
		},
		{
			"a portable key that the cloud doesn't honour, invalid too", nothing, []func(*v1.Service){annotated(KeyIdleTimeout,
				"soon")},
			[]string{"unsupported " + KeyIdleTimeout + ": the cloud bare does not support it, so it has no effect; remove it"},
		},
		{
			"source ranges that the cloud doesn't honour", nothing,
			[]func(*v1.Service){func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }},
			[]string{"unsupported spec.loadBalancerSourceRanges: the cloud bare cannot restrict who connects: the load balancer is open to everyone"},
		},
		{
			"an address that the cloud doesn't honour", nothing,
			[]func(*v1.Service){func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "198.51.100.7" }},
			[]string{"unsupported spec.loadBalancerIP: the cloud bare does not support it, so it has no effect; remove it"},
		},
		{
			"the field wins over both annotations", aws,
			[]func(*v1.Service){
				annotated(KeySourceRanges, "10.0.0.0/8", beta, "10.0.0.0/9"),
				func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/10"} },
			},
			[]string{
				"ignored " + KeySourceRanges + ": spec.loadBalancerSourceRanges is set too and takes precedence; remove one of them",
				"ignored " + beta + ": spec.loadBalancerSourceRanges is set too and takes precedence; remove one of them",
			},
		},
		{
			"the portable annotation wins over the framework's", aws, []func(*v1.Service){annotated(KeySourceRanges,
				"10.0.0.0/8", beta, "10.0.0.0/9")},
			[]string{"ignored " + beta + ": " + KeySourceRanges + " is set too and takes precedence; remove one of them"},
		},
		{
			"a range with host bits", aws, []func(*v1.Service){annotated(KeySourceRanges, "10.1.2.3/8")},
			[]string{"ignored " + KeySourceRanges + `: "10.1.2.3/8" is read as 10.0.0.0/8; write it so`},
		},
		{
			"a range of a family that the Service lacks", aws, []func(*v1.Service){annotated(KeySourceRanges,
				"10.0.0.0/8,2001:db8::/32")},
			[]string{"ignored " + KeySourceRanges + ": 2001:db8::/32 has no effect, because the Service has no IPv6 (spec.ipFamilies)"},
		},
		{
			"the annotation wins over the deprecated address", aws,
			[]func(*v1.Service){annotated(KeyStaticAddresses, "198.51.100.7"),
				func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "198.51.100.8" }},
			[]string{"ignored spec.loadBalancerIP: " + KeyStaticAddresses +
				" is set too and takes precedence; remove the field, which is deprecated"},
		},
		{
			"both addresses are the same", aws,
			[]func(*v1.Service){annotated(KeyStaticAddresses, "198.51.100.7"),
				func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "198.51.100.7" }},
			nil,
		},
		{
			"a probe of its own with local traffic", aws, []func(*v1.Service){local, annotated(KeyHealthCheckPort, "8080")},
			[]string{"ignored " + KeyHealthCheckPort + ": no effect with externalTrafficPolicy: Local, where the Service's health check node port is probed; remove it"},
		},
		{
			"a manifest that was not sent to the API server", aws,
			[]func(*v1.Service){local, func(svc *v1.Service) {
				svc.Spec.HealthCheckNodePort, svc.Spec.Ports[0].NodePort = 0,
					0
			}},
			[]string{
				"ignored spec.ports[0].nodePort: not assigned yet; the API server assigns it when the Service is created",
				"ignored spec.healthCheckNodePort: not assigned yet; the API server assigns it when the Service is created",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, warnings, err := Read(web(tc.edits...), tc.vocab)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range warnings {
				got = append(got, string(w.Reason)+" "+w.Message)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadIgnoresOverriddenSourceRanges(t *testing.T) {
	svc := web(annotated(KeySourceRanges, "10.0.0.0/8"),
		func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"192.168.0.0/16"} })
	got, _, err := Read(svc, everything())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(prefixes("192.168.0.0/16"), got.SourceRanges, comparePrefixes); diff != "" {
		t.Errorf("source ranges (-want +got):\n%s", diff)
	}
}

func TestJoinMergesProblems(t *testing.T) {
	problem := func(where string) error {
		var p Problems
		p.Add(where, "x", "write y")
		return p.Err("inner")
	}
	other := &cloudapi.Error{Class: cloudapi.Denied, Operation: "ListSubnets", Err: errors.New("no")}
	for _, tc := range []struct {
		name  string
		errs  []error
		want  string
		class cloudapi.Class
	}{
		{"nothing", []error{nil, nil}, "<nil>", ""},
		{"problems merge", []error{problem("a"), nil, problem("b")}, `Service n/s: a is "x": write y; b is "x": write y (invalid)`, cloudapi.Invalid},
		{"others stay apart", []error{other, problem("a")}, "Service n/s: a is \"x\": write y (invalid)\nListSubnets: no (denied)", cloudapi.Invalid},
		{"others alone", []error{other}, "ListSubnets: no (denied)", cloudapi.Denied},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := Join("Service n/s", tc.errs...)
			if errText(err) != tc.want || cloudapi.ClassOf(err) != tc.class {
				t.Errorf("Join = %q (%s), want %q (%s)", errText(err), cloudapi.ClassOf(err), tc.want, tc.class)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, a := range Annotations() {
		f.Add(a.Key, a.Example, "10.0.0.0/8", "198.51.100.7", uint8(0))
		f.Add(a.Key, ",=\x00/0", "::/0,", "", uint8(7))
	}
	f.Fuzz(func(t *testing.T, key, value, ranges, address string, bits uint8) {
		svc := web(annotated(key, value, beta, ranges), func(svc *v1.Service) {
			svc.Spec.LoadBalancerIP = address
			if bits&1 != 0 {
				svc.Spec.IPFamilies = append(svc.Spec.IPFamilies, v1.IPv6Protocol)
			}
			if bits&2 != 0 {
				svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
			}
			if bits&4 != 0 {
				svc.Spec.LoadBalancerSourceRanges = strings.Split(ranges, ",")
			}
		})
		before := svc.DeepCopy()
		got, warnings, err := Read(svc, everything())
		if !reflect.DeepEqual(before, svc) {
			t.Fatal("Read changed the Service")
		}
		again, warningsAgain, errAgain := Read(svc, everything())
		if !reflect.DeepEqual(got, again) || !slices.Equal(warnings, warningsAgain) ||
			fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatal("Read is not deterministic")
		}
		if err == nil {
			checkInvariants(t, got)
		} else if !cloudapi.Is(err, cloudapi.Invalid) {
			t.Fatalf("class %q", cloudapi.ClassOf(err))
		}
	})
}

// checkInvariants checks what every provider relies on.
func checkInvariants(t *testing.T, s Service) {
	t.Helper()
	for i, r := range s.SourceRanges {
		if r != r.Masked() || r.Addr().Is4In6() || (i > 0 && s.SourceRanges[i-1].Compare(r) >= 0) {
			t.Errorf("source ranges are not canonical: %v", s.SourceRanges)
		}
	}
	h := s.HealthCheck
	if h.Interval < 0 || h.Timeout < 0 || (h.Interval > 0 && h.Timeout > h.Interval) || h.Port < 0 || h.Port > 65535 {
		t.Errorf("health check %+v", h)
	}
	if h.Path != "" && (h.Path[0] != '/' || h.Protocol != HealthCheckHTTP) {
		t.Errorf("health check %+v", h)
	}
	if s.Scheme != Public && s.Scheme != Internal {
		t.Errorf("scheme %q", s.Scheme)
	}
	for _, list := range [][]string{s.StaticAddresses, s.Subnets, slices.Collect(maps.Keys(s.Tags))} {
		if slices.Contains(list, "") {
			t.Errorf("an empty entry in %q", list)
		}
	}
}
