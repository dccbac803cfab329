package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/config/configtest"
)

func TestReadEveryKey(t *testing.T) {
	t.Parallel()
	cfg, warnings, err := Read("gce.conf", []byte(`[Global]
token-url = https://example.com/token
token-body = s3cret
Project-ID = my-project
network-project-id = example.com:host
network-name = projects/host/global/networks/main
subnetwork-name = nodes
stack-type = IPV6
node-tags = nodes
node-tags = more-nodes
node-instance-prefix = gke-
regional = false
multizone = true
local-zone = europe-west1-b
api-endpoint = http://127.0.0.1:8080/compute/v1/
alpha-features = ILBSubsets
`))
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	g := cfg.Global
	if !g.AllZones() || !g.PrefersIPv6() || !g.Has(FeatureSubsets) || g.Has(FeatureSkipGroups) {
		t.Errorf("%+v", g)
	}
	if diff := cmp.Diff([]string{"nodes", "more-nodes"}, g.NodeTags); diff != "" {
		t.Error(diff)
	}
	if text := fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg); strings.Contains(text, "s3cret") {
		t.Errorf("the secret is printed: %s", text)
	}
}

func TestReadWithoutFile(t *testing.T) {
	t.Parallel()
	cfg, warnings, err := Read("", nil)
	if err != nil || len(warnings) > 0 || cfg.Global.APIEndpoint != DefaultEndpoint {
		t.Errorf("%+v, %v, %v", cfg, warnings, err)
	}
}

func TestReadReportsAllProblems(t *testing.T) {
	t.Parallel()
	_, warnings, err := Read("gce.conf", []byte(`[global]
project-id = No Project
network-name = Net
local-zone = here
node-tags = a,b
api-endpoint = https://example.com/compute/v1
token-url = token
multizone = perhaps
external-instance-groups-prefix = x
secondary-range-name = pods
stack-type = IPV5
`))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"gce.conf:2: ", "gce.conf:3: ", "gce.conf:4: ", "gce.conf:5: ", "gce.conf:6: ",
		"gce.conf:7: ", "gce.conf:8: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no error begins with %q:\n%v", want, err)
		}
	}
	for _, want := range []string{"external-instance-groups-prefix", "stack-type"} {
		if !strings.Contains(fmt.Sprint(warnings), want) {
			t.Errorf("no warning about %s: %v", want, warnings)
		}
	}
}

func TestKeysAreDocumented(t *testing.T) {
	t.Parallel()
	configtest.VerifyDocumented(t, Config{}, Keys())
}
