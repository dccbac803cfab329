package intenttest

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

const (
	// maxAnnotations is the size that Kubernetes allows for all annotations of an object together.
	maxAnnotations = 256 << 10
	// maxSpec is the size of a spec that still fits into an object of 1.5 MiB, the default limit of etcd.
	maxSpec = 1200 << 10

	// Bounds of one reading: what it writes for users, and what it allocates. They stand for its time, which a test on a
	// busy machine cannot bound.
	maxOutput    = 128 << 10
	maxAllocated = 96 << 20
)

// VerifyBounded fails the test if a Service that Kubernetes accepts makes read do more work than a fixed bound. Read
// returns all texts for the author of the Service: warnings, and the error.
func VerifyBounded(t *testing.T, vocabulary intent.Vocabulary, read func(*v1.Service) []string) {
	t.Helper()
	slowest, slowestName := time.Duration(0), ""
	for name, svc := range LargestServices(vocabulary) {
		if took := VerifyCost(t, name, func() []string { return read(svc) }); took > slowest {
			slowest, slowestName = took, name
		}
	}
	t.Logf("slowest: %s, %s", slowestName, slowest.Round(time.Millisecond))
}

// VerifyCost fails the test if one reading does more work than the bound. It returns how long the reading took.
func VerifyCost(t testing.TB, name string, read func() []string) time.Duration {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	texts := read()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	output := 0
	for _, text := range texts {
		output += len(text)
	}
	allocated := after.TotalAlloc - before.TotalAlloc
	if output > maxOutput || allocated > maxAllocated {
		t.Errorf("%s: %d bytes of text, %d bytes allocated in %s; at most %d and %d", name, output, allocated, took,
			maxOutput, maxAllocated)
	}
	return took
}

// LargestServices returns Services within the limits of Kubernetes that make a reader of annotations work as much as
// possible, by what they have much of.
func LargestServices(vocabulary intent.Vocabulary) map[string]*v1.Service {
	services := map[string]*v1.Service{}
	keys := slices.Concat(vocabulary.Portable, vocabulary.Own, []string{v1.AnnotationLoadBalancerSourceRangesKey})
	for _, key := range keys {
		for shape, item := range shapes() {
			svc := serviceOf(400, 0)
			svc.Annotations[key] = Fill(maxAnnotations-len(key), item)
			services[key+": "+shape] = svc
		}
	}
	for _, ports := range []int{5000, 15000} {
		svc := serviceOf(ports, 60000)
		svc.Annotations[intent.KeyPortSourceRanges] = Fill(maxAnnotations/2, func(i int) string {
			return fmt.Sprintf("%d=0.0.0.0/0;", i%ports+1)
		})
		services[fmt.Sprintf("%d ports and ranges", ports)] = svc
		svc = serviceOf(ports, 0)
		for _, key := range []string{intent.KeyTLSPorts, intent.KeyForwardedHeaders} {
			svc.Annotations[key] = Fill(maxAnnotations/2-len(key), func(i int) string {
				return fmt.Sprintf("%d,", i%ports+1)
			})
		}
		services[fmt.Sprintf("%d ports with TLS", ports)] = svc
		svc = serviceOf(ports, 0)
		svc.Spec.AllocateLoadBalancerNodePorts = new(bool)
		for i := range svc.Spec.Ports {
			svc.Spec.Ports[i].NodePort, svc.Spec.Ports[i].Protocol = 0, v1.ProtocolSCTP
		}
		services[fmt.Sprintf("%d ports without node ports", ports)] = svc
	}
	for _, prefix := range slices.Concat(vocabulary.OwnPrefixes, slices.Collect(maps.Keys(vocabulary.ForeignPrefixes)),
		[]string{intent.Prefix, ""}) {
		svc := serviceOf(1, 0)
		for i, left := 0, maxAnnotations; left > 320; i++ {
			key := fmt.Sprintf("%s%05x%s", prefix, i, strings.Repeat("x", i%2*50))
			svc.Annotations[key], left = "", left-len(key)
		}
		services["keys with the prefix "+prefix] = svc
	}
	return services
}

// shapes returns functions of the entries that fill an annotation.
func shapes() map[string]func(int) string {
	constant := func(text string) func(int) string { return func(int) string { return text } }
	return map[string]func(int) string{
		"commas":         constant(","),
		"semicolons":     constant(";"),
		"one entry":      constant("a,"),
		"entries":        func(i int) string { return fmt.Sprintf("%x,", i) },
		"pairs":          func(i int) string { return fmt.Sprintf("%x=v,", i) },
		"ports":          func(i int) string { return fmt.Sprintf("%d,", i%400+1) },
		"unknown ports":  func(i int) string { return fmt.Sprintf("p%d=10.0.0.0/8;", i) },
		"ranges":         func(i int) string { return fmt.Sprintf("10.%d.%d.%d/32,", i>>16, i>>8&255, i&255) },
		"host bits":      func(i int) string { return fmt.Sprintf("10.%d.%d.%d/8,", i>>16, i>>8&255, i&255) },
		"zeros":          constant("0"),
		"one word":       constant("x"),
		"two bytes each": constant("é"),
		"control":        constant("\x01"),
		"braces":         constant("{a,b"),
		"expression":     func(i int) string { return map[bool]string{true: "~", false: "x{1000}"}[i == 0] },
		"zone":           func(i int) string { return map[bool]string{true: "fe80::1%", false: "eth0"}[i == 0] },
	}
}

// Fill joins items until they have a size.
func Fill(size int, item func(int) string) string {
	var b strings.Builder
	for i := 0; ; i++ {
		text := item(i)
		if b.Len()+len(text) > size {
			return b.String()
		}
		b.WriteString(text)
	}
}

// serviceOf returns a Service with numbers of ports and source ranges, as many as fit into an object.
func serviceOf(ports, ranges int) *v1.Service {
	svc := &v1.Service{}
	svc.Namespace, svc.Name, svc.UID = "default", "web", "3a8c0bd6-7d5d-4c57-a0d8-9f0a4c1c2d3e"
	svc.Annotations = map[string]string{}
	svc.Spec.Type = v1.ServiceTypeLoadBalancer
	svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol}
	size := 0
	for i := 0; i < ports && size < maxSpec/2; i++ {
		name := fmt.Sprintf("port-%05d-%s", i+1, strings.Repeat("x", 50))
		if ports > 5000 {
			name = fmt.Sprintf("p%d", i+1)
		}
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{
			Name: name, Protocol: v1.ProtocolTCP, Port: int32(i + 1), NodePort: int32(i + 1),
		})
		size += len(name) + 20
	}
	for i := 0; i < ranges && size < maxSpec; i++ {
		text := fmt.Sprintf("10.%d.%d.%d/32", i>>16, i>>8&255, i&255)
		svc.Spec.LoadBalancerSourceRanges = append(svc.Spec.LoadBalancerSourceRanges, text)
		size += len(text) + 2
	}
	return svc
}

// VerifyProviderBounded is VerifyBounded for the annotations of a provider. Read parses them, and returns its warnings.
func VerifyProviderBounded(t *testing.T, vocabulary intent.Vocabulary,
	read func(intent.Service) (warnings []string, err error)) {
	t.Helper()
	VerifyBounded(t, vocabulary, func(svc *v1.Service) (texts []string) {
		in, warnings, err := intent.Read(svc, vocabulary)
		for _, w := range warnings {
			texts = append(texts, w.Message)
		}
		own, ownErr := read(in)
		texts = append(texts, own...)
		if err = intent.Join(in.Subject(), err, ownErr); err != nil {
			texts = append(texts, err.Error())
		}
		return texts
	})
}
