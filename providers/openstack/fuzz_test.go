package openstack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/config/configtest"
)

// FuzzReadConfig: whatever is in cloud.conf, reading it ends, says what is wrong with it by line, and shows
// no secret.
func FuzzReadConfig(f *testing.F) {
	for _, seed := range []string{
		"", minimal, minimal + "[LoadBalancer]\nlb-provider = ovn\nmonitor-delay = 5\n[LoadBalancerClass \"gold\"]\nfloating-subnet-tags = !&a,b\n",
		"[Global]\nuse-clouds\ncloud = \"a;b\"\n", "[Networking]\naddress-sort-order = ::/0, 10.0.0.0/8\npublic-network-name = a\npublic-network-name = b\n",
		"[Global]\npassword = \"s3cret\\\"#\"\ntrust-id = x\n[Metadata]\nrequest-timeout = -1\nsearch-order = ,\n", "[LoadBalancerClass]\nsubnet-id = x\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		cfg, _, err := ReadConfig("cloud.conf", []byte(content))
		if err != nil {
			configtest.Located(t, "cloud.conf", err)
			return
		}
		if cfg.Global.method() == methodNone && !cfg.readsClouds() {
			t.Error("a configuration without credentials is valid")
		}
		if o := cfg.Global.authOptions(); o.AllowReauth {
			t.Error("the SDK would renew tokens by itself")
		}
		// What it means for load balancers and addresses must be sayable for whatever is valid.
		cfg.balancers()
		newAddressRules(cfg.Networking)
	})
}

// FuzzClouds: whatever is in clouds.yaml, reading it ends, and what it yields is complete or an error.
func FuzzClouds(f *testing.F) {
	for _, seed := range []string{
		cloudsYAML, "", "clouds:", "clouds: []", "clouds: {a: null}", "clouds: {a: {auth: null, regions: [x, {name: y, values: {auth: {password: 1}}}]}}",
		"clouds: {a: {profile: a, cloud: a, verify: maybe}}", "clouds: {a: {auth: {auth_url: 5}}}", "&a [*a]", "clouds: {a: {regions: x}}",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content string) {
		file := filepath.Join(dir, "clouds.yaml")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		g, files, err := Global{UseClouds: true, CloudsFile: file}.complete()
		if len(files) == 0 {
			t.Error("no file is watched for changes")
		}
		if err == nil && (g.AuthURL == "" || g.method() == methodNone) {
			t.Errorf("without an error, and not complete: %#v", g)
		}
	})
}
