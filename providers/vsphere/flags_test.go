package vsphere

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

func TestNodeLabelsAreSetAtInitialization(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.ReadWith("f", []byte("[VirtualCenter \"vc.test\"]\nuser = u\npassword = p\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		"--node-labels=example.com/a=b,c=d": "",
		"--node-labels=example.com/a=b c":   "--node-labels: example.com/a=b c is not a label",
		"--node-labels=a/b/c=d":             "--node-labels: a/b/c=d is not a label",
	} {
		var f flags
		set := pflag.NewFlagSet("ccm", pflag.ContinueOnError)
		f.add(set)
		if err := set.Parse([]string{arguments}); err != nil {
			t.Fatal(err)
		}
		labels, err := f.labels()
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %s", arguments, err, want)
			}
			continue
		}
		if err != nil || labels["example.com/a"] != "b" || labels["c"] != "d" {
			t.Errorf("%s: %v, %v", arguments, labels, err)
		}
		if _, err := NewCloud(cfg, withLabels(labels)); err != nil {
			t.Error(err)
		}
	}
}
