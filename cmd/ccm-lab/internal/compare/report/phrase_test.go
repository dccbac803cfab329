package report

import "testing"

func TestPhraseIsTheReasonOfAnEvent(t *testing.T) {
	for name, c := range map[string]struct {
		verdict       Verdict
		summary, want string
	}{
		"field with a value": {Refuses, `SyncLoadBalancerFailed: spec.ports[0].protocol is "UDP": classic load balancers forward TCP only: write TCP, or set x to nlb (invalid)`,
			"classic load balancers forward TCP only"},
		"long value": {Refuses, `SyncLoadBalancerFailed: load-balancer.unified-ccm.io/tls-certificate is "arn:aws:acm:us-west-2:1"…: it is the ARN of a certificate of AWS: write a reference (invalid)`,
			"it is the ARN of a certificate of AWS"},
		"no value": {Refuses, "SyncLoadBalancerFailed: spec.ports[0].nodePort: there is none and x is false, but load balancers of the cloud aws reach pods through node ports: set x (invalid)",
			"reach pods through node ports"},
		"unsupported annotation": {CreatedWithout, "UnsupportedAnnotation: load-balancer.unified-ccm.io/tags: the cloud vsphere does not support it, so it has no effect; remove it",
			"does not support it"},
		"warning": {CreatedWithout, "LoadBalancerWarning: the load balancer has an IPv4 address only: the address pools of NSX-T are used for IPv4",
			"the load balancer has an IPv4 address only"},
		"port": {WorksDifferently, "LoadBalancerWarning: spec.ports (53/UDP): its nodes are probed by TCP: set x",
			"its nodes are probed by TCP"},
		"sentence":   {WorksDifferently, "The load balancer has IPv4 addresses too.", "The load balancer has IPv4 addresses too."},
		"what works": {Works, "Reason: idle timeout: 90", "Reason: idle timeout: 90"},
		"route": {CreatedWithout, "FailedToCreateRoute: (combined from similar events): Could not create route 1-2 10.0.0.0/24 for node a after 40µs: node a has no InternalIP",
			"node a has no InternalIP"},
		"ignored": {Ignored, "health check timeout is 10, want 7, and no Event says why.", "health check timeout: 10, not 7"},
		"two checks": {Ignored, "protocol is TCP, want HTTP; port is 1, want 2, and no Event says why.",
			"protocol: TCP, not HTTP; port: 1, not 2"},
		"nothing":      {Ignored, "listeners is not set, want TCP 80, and no Event says why.", "no listeners"},
		"no fix":       {Refuses, "SyncLoadBalancerFailed: quota exceeded (invalid)", "quota exceeded"},
		"other's text": {Refuses, "SyncLoadBalancerFailed: Protocol SCTP not supported by LoadBalancer", "Protocol SCTP not supported by LoadBalancer"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Cell{Verdict: c.verdict, Summary: c.summary}).Phrase(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
