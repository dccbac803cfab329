package ccmapp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// cloudConfig is a configuration file that has been read and found valid.
type cloudConfig struct {
	file     string
	content  []byte
	warnings []string
}

// loadConfig reads and validates the configuration of a provider, without calls to the cloud.
func (s source) loadConfig(d provider.Descriptor) (cloudConfig, error) {
	c := cloudConfig{file: s.configFile}
	if c.file != "" {
		content, err := os.ReadFile(c.file)
		if err != nil {
			return c, unreadable(c.file, err)
		}
		c.content = content
	}
	if d.ValidateConfig == nil {
		return c, nil
	}
	var err error
	c.warnings, err = d.ValidateConfig(c.file, c.content)
	if err != nil {
		return c, s.invalid(err, c.warnings)
	}
	if s.strict && len(c.warnings) > 0 {
		return c, &cli.ExitError{Code: cli.ExitUsage, Lines: c.warnings}
	}
	return c, nil
}

// invalid reports all problems of a configuration, including warnings if they count as errors.
func (s source) invalid(err error, warnings []string) error {
	lines := strings.Split(err.Error(), "\n")
	if s.configFile == "" {
		lines = append(lines, fmt.Sprintf("no configuration file is given: use --%s=FILE", flagConfig))
	}
	if s.strict {
		lines = append(lines, warnings...)
	}
	return &cli.ExitError{Code: cli.ExitUsage, Lines: lines}
}

// unreadable reports why a configuration file cannot be read, and how to fix it.
func unreadable(file string, err error) error {
	prefix := fmt.Sprintf("--%s=%s", flagConfig, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cli.UsageErrorf("%s: there is no such file; check the path, or the volume that should hold it", prefix)
	case errors.Is(err, fs.ErrPermission):
		return cli.UsageErrorf("%s: the process, user ID %d, may not read this file; change the file's mode or owner", prefix,
			os.Getuid())
	case errors.Is(err, syscall.EISDIR):
		return cli.UsageErrorf("%s: this is a directory; name the file in it", prefix)
	default:
		return cli.UsageErrorf("%s: the file cannot be read: %s", prefix, cli.Cause(err))
	}
}
