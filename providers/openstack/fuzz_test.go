package openstack

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/config/configtest"
	"github.com/unified-ccm/unified-ccm/providers/openstack/client"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
)

// FuzzReadConfig checks that every cloud.conf is read without a panic, that errors have lines and show no
// secrets, and that a valid configuration is usable.
func FuzzReadConfig(f *testing.F) {
	for _, seed := range []string{
		"", minimal, minimal +
			"[LoadBalancer]\nlb-provider = ovn\nmonitor-delay = 5\n[LoadBalancerClass \"gold\"]\nfloating-subnet-tags = " +
			"!&a,b\n",
		"[Global]\nuse-clouds\ncloud = \"a;b\"\n",
		"[Networking]\naddress-sort-order = ::/0, 10.0.0.0/8\npublic-network-name = a\npublic-network-name = b\n",
		"[Global]\npassword = \"s3cret\\\"#\"\ntrust-id = x\n[Metadata]\nrequest-timeout " +
			"= -1\nsearch-order = ,\n", "[LoadBalancerClass]\nsubnet-id = x\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		cfg, _, err := config.Read("cloud.conf", []byte(content))
		if err != nil {
			configtest.VerifyLocated(t, "cloud.conf", err)
			return
		}
		if cfg.Global.Method() == config.MethodNone && !cfg.Global.ReadsClouds() {
			t.Error("a configuration without credentials is valid")
		}
		if o := client.AuthOptions(cfg.Global); o.AllowReauth {
			t.Error("the SDK would renew tokens by itself")
		}
		// Every valid configuration must have settings of load balancers and addresses.
		if _, err := NewCloud(cfg); err != nil && !cfg.Global.ReadsClouds() {
			t.Error(err)
		}
	})
}
