package compare

import "testing"

func TestStableReplacesValuesThatTheCloudChooses(t *testing.T) {
	for text, want := range map[string]string{
		"tags: unified-ccm:applied=1.IaIyi33PSuM..A1Xt2EEpdj8Bm7c, unified-ccm:cluster=3005396c-2762-413a-8075-cc4b04d6d08e": "tags: unified-ccm:applied=RECORD, unified-ccm:cluster=UUID",
		"create load balancer a6f086bafbef24533914405b80c846dd, target group k8s-serviceo-web-f4d1fcbc98":                    "create load balancer aUID, target group k8s-serviceo-web-HASH",
		"joining: i-03dfcbc7bf616cc23:30804, i-0cecfdf75e7f76668:30804":                                                      "joining: i-ID:NODEPORT, i-ID:NODEPORT",
		"loadbalancer/net/a6f086bafbef24533914405b80c846dd/e9f2be4af3cc4a02":                                                 "loadbalancer/net/aUID/ID",
		"a6f086bafbef24533914405b80c846dd-1347614563.us-west-2.elb.amazonaws.com":                                            "aUID.us-west-2.elb.amazonaws.com",
		"2026-11-22T14:34:47.142Z and fa:16:3e:67:c8:e7":                                                                     "TIME and MAC",
		"port 30000 of 203.0.113.0/24 for 300 s":                                                                             "port NODEPORT of 203.0.113.0/24 for 300 s",
		"after 39.839µs":                                                                                                     "after TIME",
		"applied to service-own-class/web":                                                                                   "applied to service-own-class/web",
	} {
		if got := stable(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
