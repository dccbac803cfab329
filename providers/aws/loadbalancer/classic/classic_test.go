package classic

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func local(svc *v1.Service) {
	svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
	svc.Spec.HealthCheckNodePort = 31000
}

func TestLifecycleWithinCallBudget(t *testing.T) {
	r := newRig(t, sim.Options{ReleaseTime: 40e9})
	before := r.sim.Objects()
	svc := service()
	status := r.ensure(svc)
	if calls := r.lbCalls(); calls > 14 {
		t.Errorf("%d calls created a load balancer: %v", calls, operations(r.sim.Front().Log().Calls()))
	}
	b := r.balancer()
	if len(status.Ingress) != 1 || status.Ingress[0].Hostname != *b.DNSName {
		t.Errorf("status is %+v, want host name %s", status, *b.DNSName)
	}
	if *b.LoadBalancerName != "a1111111122223333444455555555555" || *b.Scheme != "internet-facing" || len(b.Subnets) != 3 || len(b.Instances) != 3 {
		t.Errorf("load balancer %+v", b)
	}
	if h := b.HealthCheck; *h.Target != "TCP:30080" || *h.Interval != 10 || *h.Timeout != 5 || *h.HealthyThreshold != 2 || *h.UnhealthyThreshold != 6 {
		t.Errorf("health check %+v", h)
	}
	if got := r.sourceGroups(); !slices.Equal(got, b.SecurityGroups) {
		t.Errorf("nodes let traffic in from %v, want %v", got, b.SecurityGroups)
	}
	if w := r.sim.LoadBalancers(); len(w) != 1 || len(w[0].Listeners) != 2 || len(w[0].Listeners[0].Members) != 3 {
		t.Errorf("in portable terms %+v", w)
	}

	r.mutations()
	r.launch()
	r.update(svc)
	if got := r.mutations(); !slices.Equal(got, []string{"RegisterInstancesWithLoadBalancer"}) {
		t.Errorf("a node that joins made the calls %v", got)
	}
	terminated := r.nodes[0]
	r.nodes = r.nodes[1:]
	if err := r.sim.Terminate(terminated.Name); err != nil {
		t.Fatal(err)
	}
	r.update(svc)
	if got := r.mutations(); !slices.Equal(got, []string{"DeregisterInstancesFromLoadBalancer"}) {
		t.Errorf("a node that leaves made the calls %v", got)
	}

	r.remove(svc)
	after := r.sim.Objects()
	for kind, n := range before {
		if kind != "instances" && after[kind] != n {
			t.Errorf("%d %s before, %d after", n, kind, after[kind])
		}
	}
	if got := r.sourceGroups(); len(got) != 0 {
		t.Errorf("nodes still let traffic in from %v", got)
	}
}

// TestUnchangedServiceMakesNoMutation pins that nothing is changed without need, in every shape in which managers
// are known to change something all the time.
func TestUnchangedServiceMakesNoMutation(t *testing.T) {
	for _, tc := range []struct {
		name string
		svc  *v1.Service
	}{
		{"plain", service()},
		{"externalTrafficPolicy Local", service(local)},
		{"HTTP health check", service(annotate("healthcheck-protocol", "http", "healthcheck-path", "/ready", "healthcheck-port", "8080"))},
		{"lower-case health check", service(annotate("healthcheck-protocol", "tcp"))},
		{"proxy protocol", service(annotate("proxy-protocol", "*"))},
		{"tags", service(annotate("additional-resource-tags", "team=web,stage="))},
		{"TLS", service(annotate("ssl-cert", certificate, "ssl-ports", "443"))},
		{"TLS policy", service(annotate("ssl-cert", certificate, "ssl-negotiation-policy", "ELBSecurityPolicy-TLS-1-2-2017-01"))},
		{"HTTPS to HTTPS", service(annotate("ssl-cert", certificate, "ssl-ports", "https", "backend-protocol", "https"))},
		{"HTTP", service(annotate("backend-protocol", "http"))},
		{"attributes", service(annotate("cross-zone-load-balancing-enabled", "true", "connection-draining-enabled", "true", "connection-draining-timeout", "60",
			"connection-idle-timeout", "120", "access-log-enabled", "true", "access-log-s3-bucket-name", "logs", "access-log-emit-interval", "5", "access-log-s3-bucket-prefix", "x"))},
		{"timeouts of what is off", service(annotate("connection-draining-enabled", "false", "connection-draining-timeout", "60", "access-log-s3-bucket-name", "logs"))},
		{"internal", service(annotate("internal", "true"))},
		{"source ranges", service(func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "192.168.0.0/16"} })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			r.ensure(tc.svc)
			r.mutations()
			r.ensure(tc.svc)
			if got := r.lbCalls(); got != 0 {
				t.Errorf("the same again made %d calls", got)
			}
			r.restart()
			r.ensure(tc.svc)
			if got := operations(r.sim.Front().Log().Mutations()); len(got) != 0 {
				t.Errorf("a restart changed something: %v", got)
			}
			if got := r.lbCalls(); got > 7 {
				t.Errorf("a restart made %d calls: %v", got, operations(r.sim.Front().Log().Calls()))
			}
		})
	}
}
