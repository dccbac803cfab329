// Package recordtest pins the applied records of a provider's load balancers: a manager compares those that another
// release has stored with its own. A record that changes by accident would be written to every load balancer after an
// upgrade, and what others have changed before would look like another default.
package recordtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/golden"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
)

// defaultFile is the name of the golden file in testdata.
const defaultFile = "records.golden"

// Cloud is a cloud that stores applied records.
type Cloud[S, D, O any] interface {
	lbcommon.Cloud[S, D, O]
	lbcommon.RecordKeeper[D, O]
}

// Options are what the desired state of a Service depends on, besides the Service.
type Options[S any] struct {
	Vocabulary intent.Vocabulary
	// Own documents the provider's own annotations: a Service has the example of each.
	Own []intent.Annotation
	// Annotations are those of every Service, such as one that selects a kind of load balancer.
	Annotations map[string]string
	Shared      S
	Nodes       []*v1.Node
	// File is the name of the golden file in testdata: records.golden by default.
	File string
	// Further are more Services, by what they have.
	Further map[string]*v1.Service
}

// Compare compares the record of each of many Services with a golden file. It fails for a record that depends
// on the order of nodes, and for one that does not prove itself once it is stored and read.
func Compare[S, D, O any](t *testing.T, cloud Cloud[S, D, O], o Options[S]) {
	t.Helper()
	services := o.services()
	maps.Copy(services, o.Further)
	reversed := slices.Clone(o.Nodes)
	slices.Reverse(reversed)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(services)) {
		record, err := recordOf(cloud, o, services[name], o.Nodes)
		if err != nil {
			fmt.Fprintf(&text, "%s\nrefused\n\n", name)
			continue
		}
		fmt.Fprintf(&text, "%s\n%s\n\n", name, record.Encode())
		if again, err := recordOf(cloud, o, services[name], reversed); err != nil || again.Encode() != record.Encode() {
			t.Errorf("%s: with the nodes in another order the record is %s, %v", name, again.Encode(), err)
		}
		stored := applied.Parse(record.Encode())
		if stored.IsOutdated(record) || record.Members != "" && !stored.Proves(record) {
			t.Errorf("%s: the record is read as %s", name, stored.Encode())
		}
	}
	golden.Compare(t, cmp.Or(o.File, defaultFile), text.String())
}

// recordOf returns the record of a Service.
func recordOf[S, D, O any](cloud Cloud[S, D, O], o Options[S], svc *v1.Service,
	nodes []*v1.Node) (applied.Record, error) {
	in, _, err := intent.Read(svc, o.Vocabulary)
	if err != nil {
		return applied.Record{}, err
	}
	key := lbcommon.Key{ClusterName: "prod", ClusterUID: "c-1", Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID}
	want, err := cloud.Desired(key, in, nodes, o.Shared)
	if err != nil {
		return applied.Record{}, err
	}
	return cloud.DesiredRecord(want), nil
}

// services returns Services that differ in what load balancers depend on: fields, and each annotation of the provider.
func (o Options[S]) services() map[string]*v1.Service {
	all := map[string]*v1.Service{}
	for name, edit := range map[string]func(*v1.ServiceSpec){
		"two ports": func(*v1.ServiceSpec) {},
		"one port":  func(s *v1.ServiceSpec) { s.Ports = s.Ports[:1] },
		"UDP":       func(s *v1.ServiceSpec) { s.Ports[1].Protocol = v1.ProtocolUDP },
		"local traffic": func(s *v1.ServiceSpec) {
			s.ExternalTrafficPolicy, s.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
		},
		"session affinity": func(s *v1.ServiceSpec) {
			s.SessionAffinity = v1.ServiceAffinityClientIP
			s.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: ptr.To[int32](600)}}
		},
		"source ranges": func(s *v1.ServiceSpec) {
			s.LoadBalancerSourceRanges = []string{"203.0.113.0/24", "198.51.100.0/24"}
		},
		"IPv6": func(s *v1.ServiceSpec) {
			s.IPFamilies, s.IPFamilyPolicy = []v1.IPFamily{v1.IPv6Protocol}, ptr.To(v1.IPFamilyPolicySingleStack)
		},
		"both families": func(s *v1.ServiceSpec) {
			s.IPFamilies, s.IPFamilyPolicy = append(s.IPFamilies, v1.IPv6Protocol), ptr.To(v1.IPFamilyPolicyRequireDualStack)
		},
		"address": func(s *v1.ServiceSpec) { s.LoadBalancerIP = "198.51.100.7" },
	} {
		all[name] = service(edit, o.Annotations)
	}
	for _, a := range slices.Concat(intent.Annotations(), o.Own) {
		if slices.Contains(o.Vocabulary.Portable, a.Key) || slices.Contains(o.Vocabulary.Own, a.Key) {
			annotations := map[string]string{a.Key: a.Example}
			maps.Copy(annotations, o.Annotations)
			all[a.Key] = service(nil, annotations)
		}
	}
	return all
}

// service returns a Service with two ports.
func service(edit func(*v1.ServiceSpec), annotations map[string]string) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1a2b3c4d-0000-0000-0000-000000000000",
			Annotations: annotations},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster,
			Ports: []v1.ServicePort{
				{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080},
				{Name: "https", Protocol: v1.ProtocolTCP, Port: 443, NodePort: 30443},
			},
		},
	}
	if edit != nil {
		edit(&svc.Spec)
	}
	return svc
}
