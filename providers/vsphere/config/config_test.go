package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/config/configtest"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

func TestEveryKeyIsDocumented(t *testing.T) {
	t.Parallel()
	configtest.VerifyDocumented(t, config.File{}, config.Keys())
}

const ini = `
[Global]
user = "corp\\joe"
password = "a#b"
insecure-flag = true
ip-family = IPv6, ipv4
secret-name = s
secret-namespace = kube-system
[VirtualCenter "10.0.0.1"]
datacenters = dc1, /folder/dc2
[VirtualCenter "second"]
server = vc.example.com
port = 8443
user = own
password = own
ip-family = ipv4
secret-name = own
secret-namespace = ns
[Labels]
region = k8s-region
zone = k8s-zone
[Nodes]
internal-network-subnet-cidr = "10.0.0.0/8, fd00::/8"
external-vm-network-name = VM Network
[Workspace]
server = old
`

const yamlForm = `
global:
  user: corp\joe
  password: a#b
  insecureFlag: true
  ipFamily: [IPv6, ipv4]
  secretName: s
  secretNamespace: kube-system
vcenter:
  10.0.0.1:
    server: 10.0.0.1
    datacenters: [dc1, /folder/dc2]
  second:
    server: vc.example.com
    port: 8443
    user: own
    password: own
    ipFamily: [ipv4]
    secretName: own
    secretNamespace: ns
labels: {region: k8s-region, zone: k8s-zone}
nodes:
  internalNetworkSubnetCidr: "10.0.0.0/8, fd00::/8"
  externalVmNetworkName: VM Network
`

func TestBothFormsResolveToTheSame(t *testing.T) {
	t.Parallel()
	var both []config.Config
	for _, text := range []string{ini, yamlForm} {
		cfg, warnings, err := config.ReadWith("vsphere.conf", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range warnings {
			if !strings.Contains(w.Message, "Workspace") {
				t.Errorf("warning %v", w)
			}
		}
		cfg.File = config.File{}
		both = append(both, cfg)
	}
	compare := cmp.Comparer(func(a, b config.Addresses) bool {
		return slices.Equal(a.Internal.Ranges, b.Internal.Ranges) && a.External.Network == b.External.Network
	})
	if diff := cmp.Diff(both[0], both[1], compare); diff != "" {
		t.Errorf("INI (-), YAML (+):\n%s", diff)
	}
	first, second := both[0].VCenters[0], both[0].VCenters[1]
	if first.Address() != "10.0.0.1:443" || first.Credentials.User != `corp\joe` ||
		first.Credentials.Password.Reveal() != "a#b" ||
		!slices.Equal(first.Families, []v1.IPFamily{v1.IPv6Protocol, v1.IPv4Protocol}) || first.Secret.Name != "s" ||
		!slices.Equal(first.Datacenters, []string{"dc1", "/folder/dc2"}) || !first.Insecure {
		t.Errorf("first: %+v", first)
	}
	if second.Address() != "vc.example.com:8443" || second.Credentials.User != "own" || second.Secret.Name != "own" {
		t.Errorf("second: %+v", second)
	}
}

func TestConvertedFileResolvesToTheSame(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := config.Convert(&out, "vsphere.conf", []byte(ini)); err != nil {
		t.Fatal(err)
	}
	before, _, _ := config.ReadWith("vsphere.conf", []byte(ini), nil)
	after, warnings, err := config.ReadWith("vsphere.yaml", []byte(out.String()), nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %v in\n%s", err, warnings, out.String())
	}
	if diff := cmp.Diff(before.VCenters, after.VCenters); diff != "" {
		t.Errorf("before (-), after (+):\n%s", diff)
	}
	if err := config.Convert(&out, "vsphere.yaml", []byte(out.String())); err == nil {
		t.Error("a YAML file is converted")
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text           string
		want, warnings []string
	}{
		"ini": {
			text: "[Global]\nusre = a\nport = 0\nsoap-roundtrip-count = 3\n" +
				"[VirtualCenter \"https://vc\"]\nthumbprint = x\nip-family = ipv5\nsecret-name = s\n" +
				"[Nodes]\nexclude-internal-network-subnet-cidr = 10.0.0.0\n[LoadBalancer]\nsize = SMALL\n[Labels]\nzone = z\n",
			want: []string{
				`vsphere.conf:5: [VirtualCenter "https://vc"] server: must be a host name`,
				`vsphere.conf:5: [VirtualCenter "https://vc"] port: must be a TCP port`,
				`vsphere.conf:6: [VirtualCenter "https://vc"] thumbprint: must be`,
				`vsphere.conf:7: [VirtualCenter "https://vc"] ip-family: must be ipv4, ipv6 or both, not "ipv5"`,
				`vsphere.conf:8: [VirtualCenter "https://vc"] secret-name: secret-name and secret-namespace`,
				`vsphere.conf:10: [Nodes] exclude-internal-network-subnet-cidr: must be a list of ranges such as 10.0.0.0/8, not ` +
					`"10.0.0.0"`,
				`vsphere.conf:11: [LoadBalancer] ip-pool-name: set it or ip-pool-id to a pool of addresses`,
				`vsphere.conf:11: [LoadBalancer] lb-service-id: set it to the ID of a load balancer service, or`,
				`vsphere.conf: [NSXT] host: is required for load balancers and routes`,
			},
			warnings: []string{
				"vsphere.conf:2: unknown key usre in section [Global]; did you mean user?",
				"vsphere.conf:4: [Global] soap-roundtrip-count: has no effect",
				"vsphere.conf:13: [Labels]: has only one of region and zone",
			},
		},
		"yaml": {
			text: "global:\n  insecure-flag: true\n  ca-file: x\nvcenter:\n  a:\n    port: none\n  b:\n",
			want: []string{
				"vsphere.conf:6: vcenter.a.port: must be a TCP port",
				"vsphere.conf:5: vcenter.a.user: has no credentials",
				"vsphere.conf:7: vcenter.b.user: has no credentials",
			},
			warnings: []string{
				"vsphere.conf:2: unknown key insecure-flag in global; in YAML it is written insecureFlag",
				"vsphere.conf:3: unknown key ca-file in global; in YAML it is written caFile",
			},
		},
		"no vCenter": {text: "[Labels]\n", want: []string{"vsphere.conf: [Global] server: names no vCenter"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, warnings, err := config.ReadWith("vsphere.conf", []byte(tc.text), nil)
			if err == nil {
				t.Fatal("no error")
			}
			configtest.VerifyLocated(t, "vsphere.conf", err)
			contains(t, err.Error(), tc.want)
			contains(t, strings.Join(warnings.Strings(), "\n"), tc.warnings)
		})
	}
}

func contains(t *testing.T, text string, lines []string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line) {
			t.Errorf("missing: %s\nin:\n%s", line, text)
		}
	}
}

func TestFileHasPrecedenceOverEnvironment(t *testing.T) {
	t.Parallel()
	environment := []string{
		"VSPHERE_PASSWORD=stale=1", "VSPHERE_USER=environment", "VSPHERE_VCENTER_PORT=8443", "VSPHERE_INSECURE=true",
		"VSPHERE_LABEL_REGION=r", "VSPHERE_LABEL_ZONE=z", "VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR=10.0.0.0/8",
		"VSPHERE_VCENTER_2=10.0.0.2", "VCENTER_2_USERNAME=two", "VCENTER_2_PASSWORD=a=b", "VCENTER_2_INSECURE=true",
		"VCENTER_2_IP_FAMILY=ipv6", "SKIP_NODE_DELETION=",
	}
	const file = "[VirtualCenter \"10.0.0.1\"]\nuser = file\npassword = file\n"
	cfg, _, err := config.ReadWith("f", []byte(file), environment)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.VCenters) != 2 || !cfg.KeepDeleted || cfg.Region != "r" || cfg.Zone != "z" ||
		len(cfg.Addresses.Internal.Ranges) != 1 {
		t.Errorf("%+v", cfg)
	}
	one, two := cfg.VCenters[0], cfg.VCenters[1]
	if one.Credentials.User != "file" || one.Credentials.Password.Reveal() != "file" || one.Port != "8443" ||
		!one.Insecure || !slices.Equal(one.Families, []v1.IPFamily{v1.IPv4Protocol}) {
		t.Errorf("of the file: %+v", one)
	}
	if two.Server != "10.0.0.2" || two.Credentials.User != "two" || two.Credentials.Password.Reveal() != "a=b" ||
		!two.Insecure || !slices.Equal(two.Families, []v1.IPFamily{v1.IPv6Protocol}) {
		t.Errorf("of the environment: %+v", two)
	}
	if off, _, _ := config.ReadWith("f", []byte(ini), []string{"SKIP_NODE_DELETION=false"}); off.KeepDeleted {
		t.Error("SKIP_NODE_DELETION=false keeps nodes")
	}
}

func TestNoFile(t *testing.T) {
	t.Parallel()
	if _, _, err := config.ReadWith("", nil, nil); err == nil || !strings.Contains(err.Error(), "--cloud-config") {
		t.Errorf("error %v", err)
	}
	cfg, _, err := config.ReadWith("", nil, []string{"VSPHERE_VCENTER=vc.test", "VSPHERE_USER=u", "VSPHERE_PASSWORD=p"})
	if err != nil || len(cfg.VCenters) != 1 || cfg.VCenters[0].Credentials.User != "u" {
		t.Errorf("of the environment: %+v, %v", cfg, err)
	}
}

// A problem of a YAML file is one of YAML, not what a reader of the INI form reports about its first line.
func TestProblemsOfYAMLAreThoseOfYAML(t *testing.T) {
	t.Parallel()
	_, _, err := config.ReadWith("f", []byte("global:\n  user: u\nvcenter:\n  a:\n    insecureFlag: maybe\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "f:5: vcenter") {
		t.Errorf("error %v", err)
	}
	_, _, err = config.ReadWith("f", []byte("global:\n  user: [u\n"), nil)
	if err == nil || strings.Contains(err.Error(), "section") {
		t.Errorf("error %v", err)
	}
}

func TestOneSourceOfStoredCredentials(t *testing.T) {
	t.Parallel()
	const both = "[Global]\nsecret-name = s\nsecret-namespace = ns\nsecrets-directory = /d\n[VirtualCenter \"a\"]\n" +
		"[VirtualCenter \"b\"]\nsecret-name = own\nsecret-namespace = ns\n"
	cfg, _, err := config.ReadWith("f", []byte(both), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b := cfg.VCenters[0], cfg.VCenters[1]
	if a.SecretsDirectory != "/d" || a.Secret.Name != "" || b.Secret.Name != "own" || b.SecretsDirectory != "" {
		t.Errorf("a: %+v, b: %+v", a, b)
	}
}

func TestExtraVCenterHasTheFamilyOfIPv4(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.ReadWith("", nil, []string{
		"VSPHERE_VCENTER_1=10.0.0.1", "VCENTER_1_USERNAME=u", "VCENTER_1_PASSWORD=p",
	})
	if err != nil || len(cfg.VCenters) != 1 || !slices.Equal(cfg.VCenters[0].Families, []v1.IPFamily{v1.IPv4Protocol}) {
		t.Errorf("%+v, %v", cfg.VCenters, err)
	}
}

func TestShowRedactsSecrets(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte(ini), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := config.Show(&out, file, []byte(ini)); err != nil || strings.Contains(out.String(), "a#b") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// The other manager takes 0 for no port, and the ID of section [LoadBalancer] before the name in a class.
func TestValuesThatMeanTheDefault(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.ReadWith("f", []byte("global:\n  port: 0\n  user: u\n  password: p\nvcenter:\n  a:\n    server: a.test\n    port: 0\n"), nil)
	if err != nil || cfg.VCenters[0].Port != "443" {
		t.Errorf("port 0: %+v, %v", cfg.VCenters, err)
	}
	cfg, _, err = config.ReadWith("f", []byte("[VirtualCenter \"vc.test\"]\nuser = u\npassword = p\n[NSXT]\nhost = nsx.test\nuser = u\n"+
		"password = p\n[LoadBalancer]\nsize = SMALL\ntier1-gateway-path = /infra/tier-1s/t\nip-pool-id = default-id\n"+
		"[LoadBalancerClass \"a\"]\nip-pool-name = name\n[LoadBalancerClass \"b\"]\nip-pool-id = own-id\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for class, want := range map[string]string{"a": "default-id", "b": "own-id", "default": "default-id"} {
		if have := cfg.LoadBalancer.Classes[class].Pool.ID; have != want {
			t.Errorf("class %s: pool %q, want %q", class, have, want)
		}
	}
}
