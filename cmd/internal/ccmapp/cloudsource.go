package ccmapp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// cloudSource is one of the clouds of --cloud-provider, with its file of --cloud-config.
type cloudSource struct {
	provider.Descriptor
	configFile string
	strict     bool
	// configFlag is the value of --cloud-config as it has to be written for this cloud, up to the name of the file.
	configFlag string
}

// clouds returns the clouds of --cloud-provider, in its order. With one cloud, --cloud-config is the path of its file;
// with several, it is NAME=FILE for each.
func (s source) clouds() ([]cloudSource, error) {
	names := strings.Split(s.provider, ",")
	if len(names) == 1 {
		d, err := descriptorOf(s.provider)
		if err != nil {
			return nil, err
		}
		return []cloudSource{{
			Descriptor: d, configFile: s.configFile, strict: s.strict, configFlag: "--" + flagConfig + "=",
		}}, nil
	}
	files, lines := s.configFiles(names)
	var clouds []cloudSource
	for i, name := range names {
		d, err := descriptorOf(name)
		switch {
		case err != nil:
			lines = append(lines, linesOf(err)...)
		case slices.Contains(names[:i], name):
			lines = append(lines, fmt.Sprintf("--%s=%s: %s is listed twice", flagProvider, s.provider, name))
		default:
			clouds = append(clouds, cloudSource{
				Descriptor: d, configFile: files[name], strict: s.strict, configFlag: "--" + flagConfig + "=" + name + "=",
			})
		}
	}
	if len(lines) > 0 {
		return nil, &cli.ExitError{Code: cli.ExitUsage, Lines: lines}
	}
	return clouds, nil
}

// linesOf returns the lines of an error for the user.
func linesOf(err error) []string {
	var exit *cli.ExitError
	if errors.As(err, &exit) {
		return exit.Lines
	}
	return cli.Messages(err)
}

// configFiles returns the files of --cloud-config by the name of their cloud, and all problems of the flag.
func (s source) configFiles(names []string) (files map[string]string, problems []string) {
	files = map[string]string{}
	if s.configFile == "" {
		return files, nil
	}
	for _, item := range strings.Split(s.configFile, ",") {
		name, file, ok := strings.Cut(item, "=")
		_, twice := files[name]
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("--%s=%s: %q is not NAME=FILE, which several clouds need, such as "+
				"%s=cloud.conf", flagConfig, s.configFile, item, names[0]))
		case !slices.Contains(names, name):
			problems = append(problems, fmt.Sprintf("--%s=%s: %q is not one of --%s=%s", flagConfig, s.configFile, name,
				flagProvider, s.provider))
		case twice:
			problems = append(problems, fmt.Sprintf("--%s=%s: %s has two files", flagConfig, s.configFile, name))
		default:
			files[name] = file
		}
	}
	return files, problems
}

// construct creates the provider. The file was found readable, so the framework's function, which exits the
// process otherwise, is safe to call.
func (c cloudSource) construct() (cloudprovider.Interface, error) {
	cloud, err := cloudprovider.InitCloudProvider(c.Name, c.configFile)
	if err != nil {
		return nil, cli.EnvironmentErrorf("%s cannot be set up: %v", c.Title, err)
	}
	return cloud, nil
}

func (c cloudSource) configName() string {
	if c.configFile == "" {
		return "a file given by --" + flagConfig
	}
	return c.configFile
}
