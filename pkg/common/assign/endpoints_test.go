package assign

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func local(s *v1.Service) { s.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal }

func TestServiceWhoseEndpointsAreElsewhereIsTold(t *testing.T) {
	warned := []string{"LoadBalancerEndpointsElsewhere"}
	for name, tc := range map[string]struct {
		service   *v1.Service
		endpoints []string
		want      []string
	}{
		"all on nodes of another cloud":     {web(local), []string{"b1", "b2"}, warned},
		"on a node of no cloud":             {web(local), []string{""}, warned},
		"one on a node of its own cloud":    {web(local), []string{"b1", "a1"}, nil},
		"no endpoints":                      {web(local), []string{}, nil},
		"in the cloud of the endpoints":     {web(local, selecting("b")), []string{"b1"}, nil},
		"nodes pass the traffic on":         {web(), []string{"b1"}, nil},
		"not one of the clouds' Services":   {web(local, classed("example.com/lb")), []string{"b1"}, nil},
		"a Service without a load balancer": {web(local, func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeNodePort }), []string{"b1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServiceTest(t, tc.service)
				s.endpoints.Store(&tc.endpoints)
				s.start("a", "b")
				time.Sleep(time.Hour)
				if diff := cmp.Diff(tc.want, s.said()); diff != "" {
					t.Errorf("Events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestEndpointsAreNotCheckedWithOneCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServiceTest(t, web(local))
		s.endpoints.Store(&[]string{"b1"})
		s.start("a")
		time.Sleep(time.Hour)
		if said := s.said(); len(said) > 0 {
			t.Errorf("Events: %q", said)
		}
	})
}

// Pods move without a change of their Service. The same Event is sent again only after an endpoint was in between.
func TestEndpointsAreCheckedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServiceTest(t, web(local))
		s.start("a", "b") // The list fails.
		for i, tc := range []struct {
			endpoints []string
			edit      func(*v1.Service)
			want      int
		}{
			{[]string{"b1"}, nil, 1},
			{[]string{"b2", "b1"}, nil, 0},
			{[]string{"a1"}, nil, 0},
			{[]string{"b1"}, nil, 1},
			{[]string{"b1"}, func(s *v1.Service) { s.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyCluster }, 0},
			{[]string{"b1"}, local, 1},
		} {
			s.endpoints.Store(&tc.endpoints)
			if tc.edit != nil {
				s.edit(tc.edit)
			}
			time.Sleep(endpointsDelay + endpointsInterval)
			if got := len(s.said()); got != tc.want {
				t.Errorf("step %d: %d Events, want %d", i, got, tc.want)
			}
		}
	})
}
