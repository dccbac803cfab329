package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/config/configtest"
)

const minimal = "[Global]\nauth-url = https://keystone.example.com/v3\napplication-credential-id = id\napplication-credential-secret = s3cret\n"

func readOK(t *testing.T, content string) Config {
	t.Helper()
	cfg, _, err := Read("cloud.conf", []byte(content))
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return cfg
}

func TestReadDefaults(t *testing.T) {
	t.Parallel()
	cfg := readOK(t, minimal)
	lb := cfg.LoadBalancer
	for what, ok := range map[string]bool{
		"load balancers are on":      lb.Enabled,
		"deletion cascades":          lb.CascadeDelete,
		"the driver is amphora":      lb.Provider == "amphora",
		"round robin":                lb.Method == "ROUND_ROBIN",
		"two Services share":         lb.MaxSharedLB == 2,
		"monitors are off":           !lb.CreateMonitor,
		"monitors probe every 5s":    lb.MonitorDelay.Duration == 5*time.Second && lb.MonitorTimeout.Duration == 3*time.Second,
		"retries":                    lb.MonitorMaxRetries == 1 && lb.MonitorMaxRetriesDown == 3,
		"requests have a minute":     cfg.Global.RequestTimeout.Duration == time.Minute,
		"public endpoints":           cfg.Global.EndpointType == "public",
		"certificates are looked up": lb.ContainerStore == "barbican",
	} {
		if !ok {
			t.Errorf("not true by default: %s", what)
		}
	}
	if got := readOK(t, minimal+"[LoadBalancer]\nlb-provider = ovn\n").LoadBalancer.Method; got != "SOURCE_IP_PORT" {
		t.Errorf("with ovn the method is %s, and OVN has only SOURCE_IP_PORT", got)
	}
	if got := readOK(t, minimal+"[Metadata]\nrequest-timeout = 5\n").Global.RequestTimeout.Duration; got != 5*time.Second {
		t.Errorf("request-timeout = 5 in [Metadata] is %v, want 5s", got)
	}
}

func TestReadReportsProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, content string
		// errors and warnings are parts of the lines, in order.
		errors, warnings []string
	}{
		{"everything at once", `[Global]
auth-url = keystone.example.com
username = ccm
password = "x"
os-endpoint-type = private
cert-file = /a
[LoadBalancer]
lb-version = v1
lb-method = RANDOM
max-shared-lb = -1
monitor-delay = 2
monitor-timeout = 3s
monitor-max-retries = 11
`, []string{
			"cloud.conf:2: [Global] auth-url: must be a URL", "cloud.conf:3: [Global] username: needs the user's domain", "cloud.conf:5: [Global] os-endpoint-type: must be one of",
			"cloud.conf:6: [Global] cert-file: needs key-file", "cloud.conf:8: [LoadBalancer] lb-version: must be v2",
			"cloud.conf:9: [LoadBalancer] lb-method: must be one of", "cloud.conf:10: [LoadBalancer] max-shared-lb: must be at least 0",
			"cloud.conf:13: [LoadBalancer] monitor-max-retries: must be from 1 to 10",
		}, []string{"cloud.conf:12: [LoadBalancer] monitor-timeout: the timeout of a check, 3s, is longer than"}},
		{"a timeout above the delay", minimal + "[LoadBalancer]\nmonitor-delay = 2s\n", nil,
			[]string{"monitor-delay: the timeout of a check, 3s, is longer than the time between two, 2s"}},
		{"no sharing", minimal + "[LoadBalancer]\nmax-shared-lb = 0\n", nil, nil},
		{"unknown keys and sections", minimal + "regoin = x\n[BlockStorage]\nbs-version = v3\n", nil,
			[]string{"cloud.conf:5: unknown key regoin in section [Global]; did you mean region?", "cloud.conf:6: unknown section [BlockStorage]"}},
		{"no credentials", "[Global]\nauth-url = https://k.example.com\n", []string{"has no credentials"}, nil},
		{"password without a user", "[Global]\nauth-url = https://k.example.com\npassword = x\n", []string{"password: is given without username"}, nil},
		{"token without a project", "[Global]\nauth-url = https://k.example.com\ntoken = x\n", []string{"token: needs the project"}, nil},
		{"trust with a token", "[Global]\nauth-url = https://k.example.com\ntrust-id = x\ntoken = y\nuser-id = u\npassword = p\n", []string{"token: does not go with trust-id"}, nil},
		{"empty", "", []string{"auth-url: is missing", "has no credentials"}, nil},
		{"clouds.yaml may have the rest", "[Global]\nuse-clouds = true\n", nil, nil},
		{"a method that OVN does not have", minimal + "[LoadBalancer]\nlb-provider = ovn\nlb-method = ROUND_ROBIN\n", []string{"lb-method: must be SOURCE_IP_PORT"}, nil},
		{"parts of seconds", minimal + "[LoadBalancer]\nmonitor-delay = 5500ms\n", nil, []string{"is 5.5s and becomes 5s"}},
		{"no time at all", minimal + "[LoadBalancer]\nmonitor-timeout = 500ms\n", []string{"must be at least 1s"}, nil},
		{"an unknown driver", minimal + "[LoadBalancer]\nlb-provider = a10\n", nil, []string{`"a10" is none of`}},
		{"bad ranges", minimal + "[Networking]\naddress-sort-order = 10.0.0.0/8, banana\n", nil, []string{`"banana" is not a CIDR`}},
		{"tags that name none", minimal + "[LoadBalancerClass \"x\"]\nfloating-subnet-tags = !&\n", []string{`floating-subnet-tags: "!&" contains no tag`}, nil},
		{"a label value that no node has", minimal + "[LoadBalancer]\nnode-selector = a=b=c\n",
			[]string{`node-selector: is "a=b=c": no node can have the label "a" with the value "b=c"`}, nil},
		{"a glob without its bracket", minimal + "[LoadBalancerClass \"x\"]\nfloating-subnet = public-{a,b\n",
			[]string{`floating-subnet: is "public-{a,b": it is not a pattern`}, nil},
		{"insecure", minimal + "tls-insecure = true\n", nil, []string{"lets anyone on the way read"}},
		{"insecure, misspelt", minimal + "tls-insecure = True\n", nil, []string{"means false"}},
		{"search order", minimal + "[Metadata]\nsearch-order = configDrive,floppy\n", []string{`not "floppy"`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, warnings, err := Read("cloud.conf", []byte(tt.content))
			var lines []string
			if err != nil {
				lines = strings.Split(err.Error(), "\n")
			}
			compareParts(t, "errors", lines, tt.errors)
			compareParts(t, "warnings", warnings.Strings(), tt.warnings)
		})
	}
}

func compareParts(t *testing.T, what string, lines, parts []string) {
	t.Helper()
	if len(lines) != len(parts) {
		t.Fatalf("%s:\n%s\nwant %d", what, strings.Join(lines, "\n"), len(parts))
	}
	for i, part := range parts {
		if !strings.Contains(lines[i], part) {
			t.Errorf("%s: line %d is\n%s\nwant it to have %q", what, i+1, lines[i], part)
		}
	}
}

func TestEveryKeyIsDocumented(t *testing.T) { configtest.VerifyDocumented(t, Config{}, Keys()) }

const cloudsFile = "testdata/clouds/clouds.yaml"

func TestClouds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, content string
		check         func(Global) bool
		problem       string
	}{
		{"an entry, its profile and its transport", "cloud = prod\n", func(g Global) bool {
			return g.AuthURL == "https://vendor.example.com" && g.Username == "yaml-user" && g.Password == "yaml-password" && g.TenantName == "yaml-project" &&
				g.Region == "RegionOne" && g.EndpointType == "internal" && g.TLSInsecure == "true"
		}, ""},
		{"the section wins, also with cloud", "cloud = prod\npassword = own\nregion = Mine\nos-endpoint-type = public\ntenant-id = t\n", func(g Global) bool {
			return g.Username == "yaml-user" && g.Password == "own" && g.Region == "Mine" && g.EndpointType == "public" && g.TenantID == "t" && g.TenantName == ""
		}, ""},
		{"credentials of one kind are not completed with another", "cloud = prod\napplication-credential-id = i\napplication-credential-secret = s\n", func(g Global) bool {
			return g.ApplicationCredentialID == "i" && g.Username == "" && g.Password == ""
		}, ""},
		{"secure.yaml and a region's own values", "cloud = other\nregion = RegionThree\n", func(g Global) bool {
			return g.AuthURL == "https://three.example.com" && g.ApplicationCredentialSecret == "yaml-secret" && g.Region == "RegionThree"
		}, ""},
		{"an entry that is not there", "cloud = test\n", nil, `has no cloud "test"; it has other, prod`},
		{"what is still missing", "cloud = other\n", nil, "auth-url is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := readOK(t, "[Global]\nclouds-file = "+cloudsFile+"\n"+tt.content)
			g, files, err := cfg.Global.Complete()
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Fatalf("error %v, want one with %q", err, tt.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !tt.check(g) {
				t.Errorf("got %#v", g)
			}
			if !slices.Contains(files, cloudsFile) {
				t.Errorf("files to watch are %q, want %s among them", files, cloudsFile)
			}
		})
	}
}

func TestCloudsFileMustExist(t *testing.T) {
	t.Parallel()
	cfg := readOK(t, "[Global]\nuse-clouds = true\nclouds-file = /does/not/exist.yaml\n")
	if _, files, err := cfg.Global.Complete(); err == nil || !slices.Contains(files, "/does/not/exist.yaml") {
		t.Errorf("error %v, files %q: want an error, and the missing file watched", err, files)
	}
}
