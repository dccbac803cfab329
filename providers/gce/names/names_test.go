package names

import (
	"errors"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

func TestNamesNeverChange(t *testing.T) {
	t.Parallel()
	lb, cluster := Balancer("0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"), "1234567890abcdef"
	for got, want := range map[string]string{
		lb:                              "a0f1e2d3c4b5a69788796a5b4c3d2e1f",
		Balancer(""):                    "a0000000000000000000000000000000",
		Firewall(lb):                    "k8s-fw-a0f1e2d3c4b5a69788796a5b4c3d2e1f",
		DenyFirewall(lb):                "k8s-fw-a0f1e2d3c4b5a69788796a5b4c3d2e1f-deny",
		PoolHealthFirewall(lb):          "k8s-a0f1e2d3c4b5a69788796a5b4c3d2e1f-http-hc",
		NodeHealthCheck(cluster):        "k8s-1234567890abcdef-node",
		NodePoolHealthFirewall(cluster): "k8s-1234567890abcdef-node-http-hc",
		BackendHealthFirewall(lb):       "a0f1e2d3c4b5a69788796a5b4c3d2e1f-hc",
		BackendHealthFirewall(NodeHealthCheck(cluster)):              "k8s-1234567890abcdef-node-hc",
		InstanceGroup(cluster):                                       "k8s-ig--1234567890abcdef",
		InstanceGroup(""):                                            "k8s-ig",
		SharedBackend(cluster, "TCP", "None"):                        "k8s-1234567890abcdef-internal-tcp-nmv1-6eef6648406c333a",
		SharedBackend(cluster, "UDP", "ClientIP"):                    "k8s-1234567890abcdef-internal-udp-nmv1-1668fd70f588116e",
		Description("default/web"):                                   `{"kubernetes.io/service-name":"default/web"}`,
		FirewallDescription("default/web", "192.0.2.1"):              `{"kubernetes.io/service-name":"default/web", "kubernetes.io/service-ip":"192.0.2.1"}`,
		ClusterDescription(cluster):                                  `{"kubernetes.io/cluster-id":"1234567890abcdef"}`,
		ServiceOf(Description("default/web")):                        "default/web",
		ServiceOf("by hand"):                                         "",
		Route("prod", "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", false): "prod-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
		Route("a-cluster-with-a-very-long-name", "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", false): "a-cluster-with-a-very-long-" +
			"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
		Route("a-cluster-with-a-very-long-name", "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", true): "a-cluster-with-a-very-long-" +
			"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e-v6",
		RegionOf("europe-west1-b"): "europe-west1",
		RegionOf("nowhere"):        "",
		InstanceName("node-1.c.p"): "node-1",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if len(Route("a-cluster-with-a-very-long-name", "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", true)) > maxRoute {
		t.Error("the name of a route is too long")
	}
}

func TestProviderIDs(t *testing.T) {
	t.Parallel()
	ids := NewProviderIDs(func() string { return "p" })
	if id, err := ids.Format("p", "europe-west1-b", "node-1"); err != nil || id != "gce://p/europe-west1-b/node-1" {
		t.Errorf("%q, %v", id, err)
	}
	if id, err := ids.Parse("gce://p/europe-west1-b/node-1"); err != nil || id != "europe-west1-b/node-1" {
		t.Errorf("%q, %v", id, err)
	}
	var foreign *instances.ForeignIDError
	for _, id := range []string{"gce://other/europe-west1-b/node-1", "aws:///us-east-1a/i-1"} {
		if _, err := ids.Parse(id); !errors.As(err, &foreign) {
			t.Errorf("%s: %v", id, err)
		}
	}
	var malformed *instances.MalformedIDError
	for _, id := range []string{"gce://p/europe-west1-b", "gce://p//node-1", "gce:///europe-west1-b/node-1", "node-1",
		"gce://p/europe-west1-b/node-1/x"} {
		if _, err := ids.Parse(id); !errors.As(err, &malformed) {
			t.Errorf("%s: %v", id, err)
		}
	}
	unknown := NewProviderIDs(func() string { return "" })
	if _, err := unknown.Parse("gce://other/europe-west1-b/node-1"); err != nil {
		t.Errorf("while the project is unknown: %v", err)
	}
}
