package config

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/config/configtest"
)

// FuzzRead verifies that Read terminates for any content and reports each error with its line.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", everyKey, override("1", "ec2", "us-west-2", "http://a"), "[Global]\nZone = \x00\n", "[ServiceOverride \"\"]\nURL = ::\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		cfg, _, err := Read("cloud.conf", []byte(content))
		if err != nil {
			configtest.VerifyLocated(t, "cloud.conf", err)
			return
		}
		if _, err := cfg.TopologyPattern(); err != nil {
			t.Errorf("valid configuration with an invalid pattern: %v", err)
		}
	})
}
