package ccmapp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
)

// cloudConfig is a configuration file that has been read and found valid.
type cloudConfig struct {
	file     string
	content  []byte
	warnings []string
}

// loadConfigs reads and validates the configurations of all clouds. The error has the problems of all files.
func loadConfigs(clouds []cloudSource) ([]cloudConfig, error) {
	var configs []cloudConfig
	var lines []string
	for _, cloud := range clouds {
		config, err := cloud.loadConfig()
		if err != nil {
			lines = append(lines, linesOf(err)...)
		}
		configs = append(configs, config)
	}
	if len(lines) > 0 {
		return nil, &cli.ExitError{Code: cli.ExitUsage, Lines: lines}
	}
	return configs, nil
}

// loadConfig reads and validates the configuration of a cloud, without calls to it.
func (c cloudSource) loadConfig() (cloudConfig, error) {
	config := cloudConfig{file: c.configFile}
	if config.file != "" {
		content, err := os.ReadFile(config.file)
		if err != nil {
			return config, c.unreadable(err)
		}
		config.content = content
	}
	if c.ValidateConfig == nil {
		return config, nil
	}
	var err error
	config.warnings, err = c.ValidateConfig(config.file, config.content)
	if err != nil {
		return config, c.invalid(err, config.warnings)
	}
	if c.strict && len(config.warnings) > 0 {
		return config, &cli.ExitError{Code: cli.ExitUsage, Lines: config.warnings}
	}
	return config, nil
}

// invalid reports all problems of a configuration, including warnings if they count as errors.
func (c cloudSource) invalid(err error, warnings []string) error {
	lines := strings.Split(err.Error(), "\n")
	if c.configFile == "" {
		lines = append(lines, fmt.Sprintf("no configuration file is given: use %sFILE", c.configFlag))
	}
	if c.strict {
		lines = append(lines, warnings...)
	}
	return &cli.ExitError{Code: cli.ExitUsage, Lines: lines}
}

// unreadable reports why the configuration file cannot be read, and how to fix it.
func (c cloudSource) unreadable(err error) error {
	prefix := c.configFlag + c.configFile
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
