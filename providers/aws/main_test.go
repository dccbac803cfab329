package aws_test

import (
	"os"
	"strings"
	"testing"
)

// TestMain removes the settings of the SDK that a developer's machine has in its environment: tests do not depend on
// them, and each manager that a test starts would parse the certificates of AWS_CA_BUNDLE again.
func TestMain(m *testing.M) {
	for _, setting := range os.Environ() {
		if name, _, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "AWS_") {
			_ = os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}
