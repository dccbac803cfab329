package intent

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

const beta = v1.AnnotationLoadBalancerSourceRangesKey

func everything() Vocabulary {
	return Vocabulary{Provider: "fake", Portable: Keys()}
}

// web returns a Service as the API server stores it, modified by edits.
func web(edits ...func(*v1.Service)) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u-1"},
		Spec: v1.ServiceSpec{
			Type:                  v1.ServiceTypeLoadBalancer,
			IPFamilies:            []v1.IPFamily{v1.IPv4Protocol},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster,
			SessionAffinity:       v1.ServiceAffinityNone,
			Ports:                 []v1.ServicePort{{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}},
		},
	}
	for _, edit := range edits {
		edit(svc)
	}
	return svc
}

func annotated(pairs ...string) func(*v1.Service) {
	return func(svc *v1.Service) {
		if svc.Annotations == nil {
			svc.Annotations = map[string]string{}
		}
		for i := 0; i < len(pairs); i += 2 {
			svc.Annotations[pairs[i]] = pairs[i+1]
		}
	}
}

// plainIntent returns the result of Read for web, modified by edits.
func plainIntent(edits ...func(*Service)) Service {
	s := Service{
		Namespace: "default", Name: "web", UID: "u-1",
		Ports:    []Port{{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}},
		Families: []v1.IPFamily{v1.IPv4Protocol},
		Scheme:   Public,
	}
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, t := range texts {
		list = append(list, netip.MustParsePrefix(t))
	}
	return list
}

var comparePrefixes = cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })

// ignoreFields leaves Fields to TestReadReturnsTheFieldsThatTheUserSet.
var ignoreFields = cmpopts.IgnoreFields(Service{}, "Fields")

func TestReadValidAnnotations(t *testing.T) {
	const http = KeyHealthCheckProtocol
	for _, tc := range []struct {
		name   string
		pairs  []string
		expect func(*Service)
	}{
		{"none", nil, func(*Service) {}},
		{"scheme public", []string{KeyScheme, "public"}, func(*Service) {}},
		{"scheme internal, spaces around", []string{KeyScheme, " internal "}, func(s *Service) { s.Scheme = Internal }},
		{"one source range", []string{KeySourceRanges, "10.0.0.0/8"}, func(s *Service) { s.SourceRanges = prefixes("10.0.0.0/8") }},
		{
			"source ranges are sorted and unique",
			[]string{KeySourceRanges, "192.168.0.0/16, 10.0.0.0/8,192.168.0.0/16"},
			func(s *Service) { s.SourceRanges = prefixes("10.0.0.0/8", "192.168.0.0/16") },
		},
		{"the framework's annotation", []string{beta, "10.0.0.0/8"}, func(s *Service) {
			s.SourceRanges, s.Sources = prefixes("10.0.0.0/8"), Sources{KeySourceRanges: beta}
		}},
		{"the framework's annotation, empty", []string{beta, " "}, func(*Service) {}},
		{"proxy protocol off", []string{KeyProxyProtocol, "off"}, func(*Service) {}},
		{"proxy protocol v1", []string{KeyProxyProtocol, "v1"}, func(s *Service) { s.ProxyProtocol = 1 }},
		{"proxy protocol v2", []string{KeyProxyProtocol, "v2"}, func(s *Service) { s.ProxyProtocol = 2 }},
		{"probe protocol in lower case", []string{http, "http"}, func(s *Service) { s.HealthCheck.Protocol = HealthCheckHTTP }},
		{"probe protocol TCP", []string{http, "TCP"}, func(s *Service) { s.HealthCheck.Protocol = HealthCheckTCP }},
		{"probe port", []string{KeyHealthCheckPort, "10256"}, func(s *Service) { s.HealthCheck.Port = 10256 }},
		{
			"probe path",
			[]string{http, "HTTP", KeyHealthCheckPath, "/ok?full=1"},
			func(s *Service) { s.HealthCheck.Protocol, s.HealthCheck.Path = HealthCheckHTTP, "/ok?full=1" },
		},
		{
			"probe interval and an equal timeout",
			[]string{KeyHealthCheckInterval, "1m", KeyHealthCheckTimeout, "60s"},
			func(s *Service) { s.HealthCheck.Interval, s.HealthCheck.Timeout = time.Minute, time.Minute },
		},
		{
			"thresholds at their bounds",
			[]string{KeyHealthCheckHealthyThreshold, "1", KeyHealthCheckUnhealthyThreshold, "10"},
			func(s *Service) { s.HealthCheck.HealthyThreshold, s.HealthCheck.UnhealthyThreshold = 1, 10 },
		},
		{"idle timeout", []string{KeyIdleTimeout, "1h5m"}, func(s *Service) { s.IdleTimeout = 65 * time.Minute }},
		{
			"static addresses and IDs",
			[]string{KeyStaticAddresses, "198.51.100.7, eipalloc-1"},
			func(s *Service) { s.StaticAddresses = []string{"198.51.100.7", "eipalloc-1"} },
		},
		{
			"tags, one empty, one with an equal sign",
			[]string{KeyTags, "team=web, empty=,formula=a=b"},
			func(s *Service) { s.Tags = map[string]string{"team": "web", "empty": "", "formula": "a=b"} },
		},
		{"subnets keep their order", []string{KeySubnets, "z,a"}, func(s *Service) { s.Subnets = []string{"z", "a"} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			svc := web(annotated(tc.pairs...))
			before := svc.DeepCopy()
			got, warnings, err := Read(svc, everything())
			if err != nil || len(warnings) > 0 {
				t.Fatalf("Read: %v, warnings %v", err, warnings)
			}
			want := plainIntent(tc.expect)
			want.Annotations = before.Annotations
			if diff := cmp.Diff(want, got, comparePrefixes, ignoreFields); diff != "" {
				t.Errorf("Read (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, svc); diff != "" {
				t.Errorf("Read changed the Service:\n%s", diff)
			}
		})
	}
}

func TestReadInvalidAnnotations(t *testing.T) {
	for _, tc := range []struct {
		name  string
		pairs []string
		want  string // the error after the subject and before the class
	}{
		{"scheme", []string{KeyScheme, "Public"}, KeyScheme + ` is "Public": write public or internal`},
		{"scheme empty", []string{KeyScheme, " "}, KeyScheme + `: the value is empty: write for example internal, or remove the annotation`},
		{"source range without length", []string{KeySourceRanges, "10.0.0.1"}, KeySourceRanges + `: "10.0.0.1" lacks its prefix length: write 10.0.0.1/32`},
		{"source range IPv6 without length", []string{KeySourceRanges, "2001:db8::1"}, KeySourceRanges + `: "2001:db8::1" lacks its prefix length: write 2001:db8::1/128`},
		{
			"two bad source ranges",
			[]string{KeySourceRanges, "ten,10.0.0.0/33"},
			KeySourceRanges + `: "ten" is not a CIDR: write for example 10.0.0.0/8 or 2001:db8::/32; ` +
				KeySourceRanges + `: "10.0.0.0/33" is not a CIDR: write for example 10.0.0.0/8 or 2001:db8::/32`,
		},
		{"source ranges empty", []string{KeySourceRanges, ""}, KeySourceRanges + `: the value is empty: write for example 10.0.0.0/8,2001:db8::/32, or remove the annotation`},
		{"source range mapped", []string{KeySourceRanges, "::ffff:10.0.0.0/104"}, KeySourceRanges + `: "::ffff:10.0.0.0/104" maps IPv4 into IPv6: write it as a plain IPv4 CIDR`},
		{
			"source ranges with a hole",
			[]string{KeySourceRanges, "10.0.0.0/8,,"},
			KeySourceRanges + ` is "10.0.0.0/8,,": entry 2 of the list is empty: remove the comma or fill it in`,
		},
		{
			"source ranges of the other family only",
			[]string{KeySourceRanges, "2001:db8::/32"},
			KeySourceRanges + ` is "2001:db8::/32": no range is IPv4, so no client could connect: add one of the Service's own family`,
		},
		{"the framework's annotation", []string{beta, "all"}, beta + `: "all" is not a CIDR: write for example 10.0.0.0/8 or 2001:db8::/32`},
		{"proxy protocol", []string{KeyProxyProtocol, "true"}, KeyProxyProtocol + ` is "true": write off, v1 or v2`},
		{"probe protocol", []string{KeyHealthCheckProtocol, "HTTPS"}, KeyHealthCheckProtocol + ` is "HTTPS": write TCP or HTTP`},
		{"probe port", []string{KeyHealthCheckPort, "0"}, KeyHealthCheckPort + ` is "0": write a whole number from 1 to 65535`},
		{"probe port as a word", []string{KeyHealthCheckPort, "traffic-port"}, KeyHealthCheckPort + ` is "traffic-port": write a whole number from 1 to 65535`},
		{
			"probe path without slash",
			[]string{KeyHealthCheckProtocol, "HTTP", KeyHealthCheckPath, "healthz"},
			KeyHealthCheckPath + ` is "healthz": write a path that begins with a slash and has no spaces, such as /healthz`,
		},
		{
			"probe path of a TCP probe",
			[]string{KeyHealthCheckPath, "/healthz"},
			KeyHealthCheckPath + ` is "/healthz": only HTTP probes have a path: set ` + KeyHealthCheckProtocol + ` to HTTP as well`,
		},
		{"probe interval without unit", []string{KeyHealthCheckInterval, "10"}, KeyHealthCheckInterval + ` is "10": a unit is missing: write 10s for seconds`},
		{"probe interval in parts of a second", []string{KeyHealthCheckInterval, "1500ms"}, KeyHealthCheckInterval + ` is "1500ms": write whole seconds from 1s to 1h`},
		{
			"probe timeout over the interval",
			[]string{KeyHealthCheckInterval, "5s", KeyHealthCheckTimeout, "6s"},
			KeyHealthCheckTimeout + ` is "6s": it exceeds ` + KeyHealthCheckInterval + `, which is 5s: write at most that`,
		},
		{"probe timeout as a word", []string{KeyHealthCheckTimeout, "soon"}, KeyHealthCheckTimeout + ` is "soon": write a duration such as 30s or 5m`},
		{"healthy threshold", []string{KeyHealthCheckHealthyThreshold, "11"}, KeyHealthCheckHealthyThreshold + ` is "11": write a whole number from 1 to 10`},
		{"unhealthy threshold", []string{KeyHealthCheckUnhealthyThreshold, "-1"}, KeyHealthCheckUnhealthyThreshold + ` is "-1": write a whole number from 1 to 10`},
		{"idle timeout too long", []string{KeyIdleTimeout, "25h"}, KeyIdleTimeout + ` is "25h": write whole seconds from 1s to 24h`},
		{"static address twice", []string{KeyStaticAddresses, "a,a"}, KeyStaticAddresses + ` is "a,a": "a" is listed twice: list it once`},
		{
			"static address of the other family",
			[]string{KeyStaticAddresses, "2001:db8::7"},
			KeyStaticAddresses + ` is "2001:db8::7": it is IPv6, but the Service is IPv4 (spec.ipFamilies): use an address of that family`,
		},
		{"tag without value", []string{KeyTags, "team"}, KeyTags + ` is "team": "team" is not key=value: write for example team=web,stage=prod`},
		{"tag twice", []string{KeyTags, "a=1,a=2"}, KeyTags + ` is "a=1,a=2": the key "a" is given twice: give it once`},
		{"tag with a control character", []string{KeyTags, "a=\x1b[31m"}, KeyTags + ` is "a=\x1b[31m": "a=\x1b[31m" contains a control character: remove it`},
		{"subnets separated by a space", []string{KeySubnets, "a b"}, KeySubnets + ` is "a b": "a b" contains a space: separate entries by commas`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := Read(web(annotated(tc.pairs...)), everything())
			if got, want := errText(err), "Service default/web: "+tc.want+" (invalid)"; got != want {
				t.Errorf("error\n got: %s\nwant: %s", got, want)
			}
			if !cloudapi.Is(err, cloudapi.Invalid) {
				t.Errorf("class %q", cloudapi.ClassOf(err))
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return "<nil>"
	}
	return err.Error()
}

// Every documented annotation needs a valid and an invalid case above.
func TestEveryPortableAnnotationHasAnExampleWithAnEffect(t *testing.T) {
	for _, a := range Annotations() {
		t.Run(strings.TrimPrefix(a.Key, Prefix), func(t *testing.T) {
			if a.Type == "" || a.Default == "" || a.Doc == "" || !strings.HasPrefix(a.Key, Prefix) {
				t.Errorf("incomplete: %+v", a)
			}
			dual := func(svc *v1.Service) { svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} }
			https := func(svc *v1.Service) {
				svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: "https", Protocol: v1.ProtocolTCP, Port: 443, NodePort: 30443})
			}
			svc := web(dual, https, annotated(a.Key, a.Example))
			if a.Key == KeyHealthCheckPath {
				annotated(KeyHealthCheckProtocol, "HTTP")(svc)
			}
			read, warnings, err := Read(svc, everything())
			if err != nil || len(warnings) > 0 {
				t.Fatalf("the example %q: %v, warnings %v", a.Example, err, warnings)
			}
			unread, _, _ := Read(svc, Vocabulary{Provider: "fake"})
			if cmp.Equal(read, unread, comparePrefixes) {
				t.Errorf("the example %q changes nothing", a.Example)
			}
		})
	}
}

func TestReadReportsAllProblemsInOrder(t *testing.T) {
	svc := web(
		annotated(KeySubnets, ",", KeyScheme, "pubic", KeyIdleTimeout, "never"),
		func(svc *v1.Service) { svc.Spec.Ports[0].Protocol = v1.ProtocolSCTP },
	)
	_, _, err := Read(svc, everything())
	var problems *ProblemsError
	if !errors.As(err, &problems) {
		t.Fatalf("no ProblemsError in %v", err)
	}
	var where []string
	for _, p := range problems.Problems {
		where = append(where, p.Field)
	}
	want := []string{"spec.ports[0].protocol", KeyScheme, KeyIdleTimeout, KeySubnets}
	if diff := cmp.Diff(want, where); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	for range 20 {
		if _, _, again := Read(svc, everything()); again.Error() != err.Error() {
			t.Fatalf("the error is not deterministic:\n%v\n%v", err, again)
		}
	}
}

func TestErrorsClipLongValues(t *testing.T) {
	_, _, err := Read(web(annotated(KeyScheme, strings.Repeat("ä", 5000))), everything())
	if n := len(errText(err)); n > 1000 {
		t.Errorf("the error has %d bytes; an Event keeps 1024", n)
	}
}
