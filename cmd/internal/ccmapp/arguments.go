package ccmapp

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// managerSuffix ends the names of the clouds' own managers: aws-cloud-controller-manager.
const managerSuffix = "-cloud-controller-manager"

// Arguments returns the arguments of a command line, whose first element is the path of the program. A program with the
// name of a cloud's own manager, such as a link in the image, selects that cloud, unless a flag selects one. The
// image is then a replacement in the manifests of that manager. Those of OpenStack's set the path of the program as the
// first argument and no command, so it follows the entrypoint of the image.
func Arguments(commandLine []string) []string {
	if len(commandLine) == 0 {
		return nil
	}
	if len(commandLine) > 1 && ownManager(commandLine[1]) != "" {
		commandLine = commandLine[1:]
	}
	args := commandLine[1:]
	name := ownManager(commandLine[0])
	if name == "" {
		return args
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return args // a command
	}
	const flag = "--cloud-provider"
	if slices.ContainsFunc(args, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") }) {
		return args
	}
	return slices.Concat([]string{flag + "=" + name}, args)
}

// ownManager returns the cloud that the path of a program names as a cloud's own manager, or "".
func ownManager(path string) string {
	name, isManager := strings.CutSuffix(filepath.Base(path), managerSuffix)
	if _, registered := provider.Get(name); !isManager || !registered {
		return ""
	}
	return name
}
