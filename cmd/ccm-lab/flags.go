package main

import (
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// checkProvider rejects a cloud that cannot be simulated.
func checkProvider(flag, name string) error {
	known := lab.Providers()
	if slices.Contains(known, name) {
		return nil
	}
	if nearest := provider.Nearest(name, known); nearest != "" {
		return cli.UsageErrorf("%s: there is no simulated cloud %q; did you mean %s?", flag, name, nearest)
	}
	return cli.UsageErrorf("%s: there is no simulated cloud %q; there are: %s", flag, name, strings.Join(known, ", "))
}

// checkProviders checks the clouds of a --provider that may have several.
func checkProviders(names []string) error {
	flag := "--provider=" + strings.Join(names, ",")
	var errs []error
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			errs = append(errs, cli.UsageErrorf("%s: %s is listed twice", flag, name))
			continue
		}
		errs = append(errs, checkProvider(flag, name))
	}
	return cli.UsageErrors(errs...)
}

func checkRange(flag string, value, low, high int) error {
	if value < low || value > high {
		return cli.UsageErrorf("--%s=%d: use %d to %d", flag, value, low, high)
	}
	return nil
}
