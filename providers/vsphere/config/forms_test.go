package config_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

// everyKey has each key of both forms, with equal values.
func everyKey(t *testing.T) (inINI, inYAML string) {
	t.Helper()
	var texts []string
	for _, name := range []string{"every-key.conf", "every-key.yaml"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(content))
	}
	return texts[0], texts[1]
}

// The spellings of both forms are those that the other manager reads. They can never change.
func TestEveryKeyIsReadInBothForms(t *testing.T) {
	t.Parallel()
	ini, other := everyKey(t)
	var both []config.Config
	for _, text := range []string{ini, other} {
		cfg, warnings, err := config.ReadWith("vsphere.conf", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range warnings.Strings() {
			if !strings.Contains(w, "has no effect") && !strings.Contains(w, "have no effect") {
				t.Errorf("warning %s", w)
			}
		}
		both = append(both, cfg)
	}
	options := []cmp.Option{
		cmpopts.EquateComparable(both[0].Addresses.Internal.Ranges[0]),
		// The text of tags differs: JSON in one form, a map in the other.
		cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "File.LoadBalancer.Tags" }, cmp.Ignore()),
	}
	if diff := cmp.Diff(both[0], both[1], options...); diff != "" {
		t.Errorf("INI (-), YAML (+):\n%s", diff)
	}
	c := both[0]
	if len(c.VCenters) != 2 || c.VCenters[0].Name != "10.0.0.1" || c.VCenters[1].Name != "global.test" {
		t.Fatalf("vCenters %+v", c.VCenters)
	}
	first, global := c.VCenters[0], c.VCenters[1]
	if first.Address() != "own.test:8443" || first.CAFile != "/own.pem" || first.Secret.Namespace != "own-ns" ||
		len(first.Families) != 2 || !slices.Equal(first.Datacenters, []string{"dc1", "/folder/dc2"}) {
		t.Errorf("vCenter with its own keys: %+v", first)
	}
	if global.Address() != "global.test:9443" || global.Credentials.User != "u" || global.CAFile != "/global.pem" ||
		global.SecretsDirectory != "/secrets" || !global.Insecure {
		t.Errorf("vCenter of the global section: %+v", global)
	}
	if n := c.NSXT; n == nil || n.Host != "nsx.test" || !n.RemoteAuth || n.CertFile != "/c.pem" ||
		n.VMCAuthHost != "vmc.test" || n.Secret.Name != "nsx" || c.RouterPath != "/infra/tier-1s/t1" {
		t.Errorf("NSX-T: %+v, router %s", n, c.RouterPath)
	}
	b := c.LoadBalancer
	if b == nil || !b.SNATDisabled || b.Size != "SMALL" || b.ServiceID != "lbs" || b.Tags["owner"] != "team" ||
		b.Tags["a"] != "b" {
		t.Fatalf("load balancers: %+v", b)
	}
	for class, want := range map[string]config.Class{
		"default": {
			Pool: config.Named{Name: "p"}, TCP: config.Named{Name: "tcp"}, UDP: config.Named{ID: "/infra/lb-app-profiles/udp"},
		},
		"internal": {
			Pool: config.Named{ID: "i"}, TCP: config.Named{ID: "/infra/lb-app-profiles/tcp"}, UDP: config.Named{Name: "udp"},
		},
	} {
		if diff := cmp.Diff(want, b.Classes[class]); diff != "" {
			t.Errorf("class %s (-want +have):\n%s", class, diff)
		}
	}
}

// The other manager accepts only one type for each key of YAML: a number, a text of ranges, or a map of tags. The
// converted file must still work after a return to it.
func TestConvertedFileHasTheTypesOfTheOtherManager(t *testing.T) {
	t.Parallel()
	ini, want := everyKey(t)
	var converted strings.Builder
	if err := config.Convert(&converted, "vsphere.conf", []byte(ini)); err != nil {
		t.Fatal(err)
	}
	var trees [2]map[string]any
	for i, text := range []string{want, converted.String()} {
		if err := yaml.Unmarshal([]byte(text), &trees[i]); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(trees[0], trees[1]); diff != "" {
		t.Errorf("converted (-want +have):\n%s", diff)
	}
}

func TestEveryVariableHasAnEffect(t *testing.T) {
	t.Parallel()
	const (
		none = "[VirtualCenter \"vc.test\"]\n"
		user = "[Global]\nuser = u\npassword = p\n"
		own  = user + none
		nsxt = own + "[Route]\nrouter-path = /infra/tier-1s/t1\n[NSXT]\n"
		nsx  = nsxt + "host = file.test\nuser = file\npassword = file\n"
	)
	for _, tc := range []struct {
		variables, file string
		want            map[string]string
	}{
		{"VSPHERE_VCENTER=v.test", user, map[string]string{"server": "v.test"}},
		{"VSPHERE_VCENTER_PORT=8443", own, map[string]string{"port": "8443"}},
		{"VSPHERE_USER=v VSPHERE_PASSWORD=secret", none, map[string]string{"user": "v", "password": "secret"}},
		{"VSPHERE_DATACENTER=a,b", own, map[string]string{"datacenters": "a b"}},
		{"VSPHERE_CAFILE=/ca", own, map[string]string{"ca": "/ca"}},
		{"VSPHERE_SECRET_NAME=s VSPHERE_SECRET_NAMESPACE=n", none, map[string]string{"secret": "n/s"}},
		{"VSPHERE_SECRETS_DIRECTORY=/d", none, map[string]string{"directory": "/d"}},
		{"VSPHERE_THUMBPRINT=" + thumbprint, own, map[string]string{"thumbprint": thumbprint}},
		{"VSPHERE_INSECURE=true", own, map[string]string{"insecure": "true"}},
		{"VSPHERE_LABEL_REGION=r VSPHERE_LABEL_ZONE=z", own, map[string]string{"region": "r", "zone": "z"}},
		{"VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR=10.0.0.0/8", own, map[string]string{"internal": "[10.0.0.0/8] "}},
		{"VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR=10.0.0.0/8", own, map[string]string{"external": "[10.0.0.0/8] "}},
		{"VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME=n", own, map[string]string{"internal": "[] n"}},
		{"VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME=n", own, map[string]string{"external": "[] n"}},
		// These two are accepted and not needed.
		{"ENABLE_ALPHA_DUAL_STACK=", own + "ip-family = ipv6,ipv4\n", map[string]string{"families": "[IPv6 IPv4]"}},
		{"VSPHERE_ROUNDTRIP_COUNT=5", own, map[string]string{"server": "vc.test"}},
		{
			"VSPHERE_VCENTER_7=x VCENTER_7_SERVER=y VCENTER_7_USERNAME=u VCENTER_7_PASSWORD=p VCENTER_7_PORT=1 " +
				"VCENTER_7_DATACENTERS=a,b VCENTER_7_CAFILE=/ca VCENTER_7_THUMBPRINT=" + thumbprint + " VCENTER_7_ROUNDTRIP=4 " +
				"VCENTER_7_SECRET_NAME=s VCENTER_7_SECRET_NAMESPACE=n VCENTER_7_INSECURE=false VCENTER_7_IP_FAMILY=ipv6", "",
			map[string]string{
				"server": "y", "port": "1", "user": "u", "password": "p", "datacenters": "a b", "ca": "/ca",
				"thumbprint": thumbprint, "secret": "n/s", "insecure": "false", "families": "[IPv6]",
			},
		},
		// Those of NSX-T have precedence over the file.
		{"NSXT_MANAGER_HOST=v.test", nsx, map[string]string{"NSX-T host": "v.test"}},
		{"NSXT_USERNAME=v NSXT_PASSWORD=w", nsx, map[string]string{"NSX-T user": "v", "NSX-T password": "w"}},
		{"NSXT_ALLOW_UNVERIFIED_SSL=true", nsx, map[string]string{"NSX-T insecure": "true"}},
		{"NSXT_ALLOW_UNVERIFIED_SSL=false", nsx + "insecure-flag = true\n", map[string]string{"NSX-T insecure": "false"}},
		{"NSXT_CA_FILE=/ca", nsx, map[string]string{"NSX-T ca": "/ca"}},
		{
			"NSXT_MANAGER_HOST=h NSXT_CLIENT_AUTH_CERT_FILE=/c NSXT_CLIENT_AUTH_KEY_FILE=/k", nsxt,
			map[string]string{"NSX-T certificate": "/c /k"},
		},
		{
			"NSXT_MANAGER_HOST=h NSXT_SECRET_NAME=s NSXT_SECRET_NAMESPACE=n", nsxt,
			map[string]string{"NSX-T secret": "n/s"},
		},
	} {
		cfg, _, err := config.ReadWith("f", []byte(tc.file), strings.Fields(tc.variables))
		if err != nil {
			t.Errorf("%s: %v", tc.variables, err)
			continue
		}
		have := settings(cfg)
		for name, want := range tc.want {
			if have[name] != want {
				t.Errorf("%s: %s is %q, want %q", tc.variables, name, have[name], want)
			}
		}
	}
}

// settings returns those of the first vCenter, of the nodes and of NSX-T.
func settings(c config.Config) map[string]string {
	v := c.VCenters[0]
	rule := func(r config.AddressRule) string { return fmt.Sprint(r.Ranges, " ", r.Network) }
	out := map[string]string{
		"server": v.Server, "port": v.Port, "user": v.Credentials.User, "password": v.Credentials.Password.Reveal(),
		"datacenters": strings.Join(v.Datacenters, " "), "ca": v.CAFile, "thumbprint": v.Thumbprint,
		"insecure": fmt.Sprint(v.Insecure), "secret": v.Secret.Namespace + "/" + v.Secret.Name,
		"directory": v.SecretsDirectory, "families": fmt.Sprint(v.Families), "region": c.Region, "zone": c.Zone,
		"internal": rule(c.Addresses.Internal), "external": rule(c.Addresses.External),
	}
	if n := c.NSXT; n != nil {
		maps.Copy(out, map[string]string{
			"NSX-T host": n.Host, "NSX-T user": n.User, "NSX-T password": n.Password.Reveal(), "NSX-T ca": n.CAFile,
			"NSX-T insecure": fmt.Sprint(n.Insecure), "NSX-T certificate": n.CertFile + " " + n.KeyFile,
			"NSX-T secret": n.Secret.Namespace + "/" + n.Secret.Name,
		})
	}
	return out
}

// thumbprint is a digest in the form of SHA-1.
const thumbprint = "AB:CD:EF:01:23:45:67:89:AB:CD:EF:01:23:45:67:89:AB:CD:EF:01"

func TestSAMLLoginIsRefused(t *testing.T) {
	t.Parallel()
	const text = "vcenter:\n  vc.test:\n    password: key\n    user: |\n      -----BEGIN CERTIFICATE-----\n"
	_, _, err := config.ReadWith("f", []byte(text), nil)
	const want = "f:4: vcenter.vc.test.user: is a certificate: logins with SAML tokens"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
}

func TestProblemsOfNSXT(t *testing.T) {
	t.Parallel()
	const (
		center = "[VirtualCenter \"vc.test\"]\nuser = u\npassword = p\n"
		route  = "[Route]\nrouter-path = /infra/tier-1s/t\n[NSXT]\nhost = h\n"
		user   = "[NSXT]\nhost = h\nuser = u\n"
		lb     = user + "[LoadBalancer]\nlb-service-id = s\n"
	)
	for text, want := range map[string]string{
		user + "[Route]\nrouter-path = t1\n":                      "router-path: must be the path of a Tier-1 gateway",
		"[Route]\nrouter-path = /infra/tier-1s/t\n":               "[NSXT] host: is required",
		strings.Replace(route, "host = h", "host = https://h", 1): "host: must be a host name or an IP address",
		route:                                                   "user: has no credentials",
		route + "secret-name = s\n":                             "secret-name and secret-namespace must be set together",
		route + "client-auth-cert-file = c\n":                   "client-auth-key-file must be set together",
		route + "vmc-access-token = t\n":                        "vmc-access-token and vmc-auth-host must be set together",
		lb + "ip-pool-id = p\nsize = HUGE\n":                    "size: must be one of SMALL",
		lb + "ip-pool-id = p\ntags = x\n":                       "tags: must be a JSON object of texts",
		lb + "[LoadBalancerClass \"a\"]\n":                      `[LoadBalancerClass "a"] ip-pool-name: set it or ip-pool-id`,
		user + "[LoadBalancer]\nlb-service-id = s\n":            "[LoadBalancer] ip-pool-name: set it or ip-pool-id",
		user + "[LoadBalancer]\nip-pool-id = p\nsize = SMALL\n": "[LoadBalancer] lb-service-id: set it to the ID",
	} {
		_, _, err := config.ReadWith("f", []byte(center+text), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
	_, warnings, err := config.ReadWith("f", []byte(center+"[NSXT]\nhost = h\n"), nil)
	if err != nil || !strings.Contains(strings.Join(warnings.Strings(), "\n"), "[NSXT]: has no effect without a section") {
		t.Errorf("without load balancers and routes: %v, %v", warnings, err)
	}
}
