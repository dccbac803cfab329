package config

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/config/configtest"
)

// FuzzRead verifies that Read terminates for any content and reports each error with its line.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", "[Global]\nregion = a\nendpoint = http://127.0.0.1:1\ntoken = t\n", "[Quota]\nroutes = -1\n",
		"[Global]\nregion = \x00\n", "[Global]\nendpoint = http://u:p@h\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		if _, _, err := Read("cloud.conf", []byte(content)); err != nil {
			configtest.VerifyLocated(t, "cloud.conf", err)
		}
	})
}
