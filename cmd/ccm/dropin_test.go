//go:build !exclude_fake

package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/cmd/internal/ccmapp"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// TestCommandLinesOfOtherManagersStart: a manifest of a cloud's own manager starts ccm with all flags that it may have.
// Without a cluster, the missing kubeconfig is the only problem, and the last one that is found before a connection.
func TestCommandLinesOfOtherManagersStart(t *testing.T) {
	aws := write(t, "aws.conf", "[Global]\nZone = eu-central-1a\nVPC = vpc-1\nSubnetID = subnet-1\n"+
		"KubernetesClusterID = prod\nRoleARN = arn:aws:iam::123456789012:role/x\n")
	openstack := write(t, "cloud.conf", "[Global]\nauth-url = https://keystone.example.com/v3\nusername = u\npassword = p\n"+
		"tenant-name = t\ndomain-name = Default\nregion = one\n[LoadBalancer]\nuse-octavia = true\n")
	vsphere := write(t, "vsphere.conf", "global:\n  port: 443\n  insecureFlag: true\n  user: u\n  password: p\n"+
		"vcenter:\n  main:\n    server: 192.0.2.1\n    datacenters: [dc]\n")
	gce := write(t, "gce.conf", "[global]\nproject-id = p\nlocal-zone = europe-west1-b\nnode-tags = nodes\n"+
		"secondary-range-name = pods\n")
	for _, tc := range []struct {
		name, provider string
		line           []string
	}{
		{"the manifest of aws", "aws", []string{"aws-cloud-controller-manager", "--v=2", "--cloud-provider=aws",
			"--use-service-account-credentials=true", "--configure-cloud-routes=false"}},
		{"aws with its tagging controller", "aws", []string{"aws-cloud-controller-manager", "--v=2",
			"--cloud-provider=aws", "--cloud-config=" + aws, "--cluster-name=prod", "--cluster-cidr=100.64.0.0/10",
			"--allocate-node-cidrs=false", "--configure-cloud-routes=false", "--leader-elect=true",
			"--controllers=*,tagging", "--tags=team=blue,stage=prod", "--resources=instance",
			"--tagging-controller-rate-limit=10", "--tagging-controller-burst-limit=20",
			"--tagging-controller-concurrent-node-syncs=10", "--tagging-controller-enable-batching=true"}},
		{"aws with ranges of kube-controller-manager", "aws", []string{"aws-cloud-controller-manager",
			"--cloud-provider=aws", "--controllers=*,-route,-nodeipam", "--bind-address=127.0.0.1"}},
		{"the manifest of openstack", "openstack", []string{"openstack-cloud-controller-manager", "--v=1",
			"--cluster-name=kubernetes", "--cloud-config=" + openstack, "--cloud-provider=openstack",
			"--use-service-account-credentials=false", "--bind-address=127.0.0.1"}},
		{"the chart of openstack", "openstack", []string{"openstack-cloud-controller-manager", "--v=2",
			"--cloud-config=" + openstack, "--cluster-name=prod", "--cloud-provider=openstack",
			"--use-service-account-credentials=false", "--controllers=cloud-node,cloud-node-lifecycle,route,service",
			"--bind-address=0.0.0.0", "--user-agent=a", "--user-agent=b", "--concurrent-service-syncs=5",
			"--route-reconciliation-period=10s", "--node-status-update-frequency=5m", "--node-monitor-period=5s"}},
		{"the manifest of vsphere", "vsphere", []string{"vsphere-cloud-controller-manager", "--v=2",
			"--cloud-provider=vsphere", "--cloud-config=" + vsphere}},
		{"vsphere with labels of nodes", "vsphere", []string{"vsphere-cloud-controller-manager", "--v=4",
			"--cloud-provider=vsphere", "--cloud-config=" + vsphere, "--node-labels=example.com/site=one",
			"--controllers=cloud-node,cloud-node-lifecycle", "--leader-elect-lease-duration=30s",
			"--authentication-skip-lookup", "--secure-port=10258"}},
		{"the manifest of gce", "gce", []string{"cloud-controller-manager", "--cloud-provider=gce", "--cloud-config=" + gce,
			"--allocate-node-cidrs=true", "--cidr-allocator-type=CloudAllocator", "--cluster-cidr=10.4.0.0/14",
			"--cluster-name=prod", "--configure-cloud-routes=false", "--use-service-account-credentials=true"}},
		{"gce with ranges of its own", "gce", []string{"cloud-controller-manager", "--cloud-provider=gce",
			"--cloud-config=" + gce, "--allocate-node-cidrs", "--cluster-cidr=10.4.0.0/16,fd00::/56",
			"--node-cidr-mask-size-ipv4=25", "--node-cidr-mask-size-ipv6=64", "--service-cluster-ip-range=10.0.0.0/20,fd01::/108",
			"--controllers=*,gkenetworkparamset"}},
		{"gce with ranges of kube-controller-manager", "gce", []string{"cloud-controller-manager", "--cloud-provider=gce",
			"--cloud-config=" + gce, "--controllers=*,-nodeipam", "--cluster-cidr=10.4.0.0/14", "--node-cidr-mask-size=24",
			"--service-cluster-ip-range=10.0.0.0/20", "--secondary-service-cluster-ip-range=fd01::/108"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if _, linked := provider.Get(tc.provider); !linked {
				t.Skip("the provider is excluded")
			}
			_, stderr, code := ccm(t, ccmapp.Arguments(tc.line)...)
			want := regexp.MustCompile(`^ccm: no Kubernetes API server is named, [^\n]*$`)
			if text := strings.TrimSpace(stderr); code != 1 || !want.MatchString(text) {
				t.Errorf("exit code %d: %s", code, text)
			}
		})
	}
}
