package config

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/clock"

	gcfg "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/pkg/common/config/configtest"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim"
)

const everyKey = `
[Global]
region = here
zone = here-1
zone = here-2
endpoint =
token = s3cret
adopt-unknown-nodes = false
instance-type = fake.large
state-file = /var/lib/fake.json
address-pool = 203.0.113.0/24
address-pool = 2001:db8:1::/64
provision-time = 2s
latency = 20ms
rate-limit = 50.5
error-rate = 0.01
seed = 7
data-plane = proxy
[Quota]
load-balancers = 1
addresses = 2
instances = 3
routes = 4
`

func TestConfigReachesTheSimulator(t *testing.T) {
	t.Parallel()
	for _, row := range Keys() {
		if !strings.Contains(everyKey, "\n"+row.Key+" =") {
			t.Errorf("[%s] %s is not tried here", row.Section, row.Key)
		}
	}
	cfg, warnings, err := Read("cloud.conf", []byte(strings.Replace(everyKey, "endpoint =\n", "", 1)))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("Read: %v, warnings %v", err, warnings)
	}
	want := sim.Options{
		Region: "here", Zones: []string{"here-1", "here-2"}, Token: "s3cret", StateFile: "/var/lib/fake.json",
		Pools:         []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8:1::/64")},
		ProvisionTime: 2 * time.Second, Latency: 20 * time.Millisecond, RateLimit: 50.5, ErrorRate: 0.01, Seed: 7, DataPlane: sim.DataPlaneProxy, Standby: true,
		Quotas: map[string]int{"load-balancers": 1, "addresses": 2, "instances": 3, "routes": 4},
	}
	got := cfg.Simulator(clock.RealClock{})
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(sim.Options{}, "Clock"),
		cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("simulator options (-want +got):\n%s", diff)
	}
}

func TestNoConfigIsValid(t *testing.T) {
	t.Parallel()
	cfg, warnings, err := Read("", nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("Read: %v, warnings %v", err, warnings)
	}
	if cfg.Global.Region != "fake-1" || !cfg.Global.AdoptUnknownNodes {
		t.Errorf("defaults are %+v", cfg.Global)
	}
}

func TestConfigProblems(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content  string
		err      []string
		warnings []string
	}{
		"everything wrong at once": {
			content: "[Global]\nregion = Here\nzone = a\nzone = a\nendpoint = localhost:8080\naddress-pool = 198.51.100.7/24\naddress-pool = x\n" +
				"error-rate = 1\nrate-limit = -1\ndata-plane = on\nlatency = soon\n[Quota]\nroutes = -1\n",
			err: []string{
				`c:2: [Global] region: must be lower-case letters, digits and inner hyphens, at most 63, not "Here"`,
				`[Global] zone: "a" is given twice`,
				`c:5: [Global] endpoint: must be a URL such as http://127.0.0.1:8099`,
				`[Global] address-pool: "198.51.100.7/24" has bits set behind its prefix length; write 198.51.100.0/24`,
				`[Global] address-pool: must be a CIDR such as 198.51.100.0/24, not "x"`,
				`c:8: [Global] error-rate: must be at least 0 and below 1, but is 1`,
				`c:9: [Global] rate-limit: must not be negative`,
				`c:10: [Global] data-plane: must be none or proxy, not "on"`,
				`c:11: [Global] latency: must be a duration`,
				`c:13: [Quota] routes: must not be negative`,
			},
		},
		"an unknown key": {
			content:  "[Global]\nregoin = a\n",
			warnings: []string{"did you mean region?"},
		},
		"keys of a cloud in this process beside an endpoint": {
			content: "[Global]\nendpoint = http://127.0.0.1:1\ntoken = t\nlatency = 1s\n[Quota]\nroutes = 1\n",
			warnings: []string{"c:4: [Global] latency: has no effect with endpoint",
				"c:6: [Quota] routes: has no effect with endpoint"},
		},
		"credentials in the endpoint": {
			content: "[Global]\nendpoint = https://user:hunter2@example.com\n",
			err:     []string{"c:2: [Global] endpoint: must be a URL"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, warnings, err := Read("c", []byte(test.content))
			text := ""
			if err != nil {
				text = err.Error()
			}
			if lines := strings.Count(text, "\n") + 1; text != "" && lines != len(test.err) ||
				(text == "") != (len(test.err) == 0) {
				t.Errorf("errors:\n%s\nwant %d", text, len(test.err))
			}
			for _, want := range test.err {
				if !strings.Contains(text, want) {
					t.Errorf("the errors lack %q:\n%s", want, text)
				}
			}
			if len(warnings) != len(test.warnings) {
				t.Errorf("warnings: %v, want %d", warnings, len(test.warnings))
			}
			for _, want := range test.warnings {
				if !strings.Contains(warnings.Error(), want) {
					t.Errorf("the warnings lack %q: %v", want, warnings)
				}
			}
			if strings.Contains(text, "hunter2") {
				t.Errorf("the error contains a secret: %s", text)
			}
		})
	}
}

func TestTokenIsNeverPrinted(t *testing.T) {
	t.Parallel()
	cfg, _, err := Read("", []byte("[Global]\ntoken = s3cret\n"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := gcfg.WriteEffective(&out, cfg); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "s3cret") || !strings.Contains(out.String(), "REDACTED") {
		t.Errorf("the effective configuration is:\n%s", out.String())
	}
}

func TestEveryKeyIsDocumented(t *testing.T) { configtest.VerifyDocumented(t, Config{}, Keys()) }
