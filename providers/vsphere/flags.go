package vsphere

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

const flagNodeLabels = "node-labels"

// inheritedFlags are the flags without the provider's prefix.
func inheritedFlags() []string { return []string{flagNodeLabels} }

// flags are the provider's own.
type flags struct {
	nodeLabels map[string]string
}

// add adds the flags.
func (f *flags) add(fs *pflag.FlagSet) {
	fs.StringToStringVar(&f.nodeLabels, flagNodeLabels, f.nodeLabels,
		"Labels of nodes on vSphere, as key=value,…. They are set when a node is initialized.")
}

// labels returns the valid labels, or an error.
func (f *flags) labels() (map[string]string, error) {
	for key, value := range f.nodeLabels {
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(problems) > 0 {
			return nil, fmt.Errorf("--%s: %s=%s is not a label: %s", flagNodeLabels, key, value, strings.Join(problems, "; "))
		}
	}
	return f.nodeLabels, nil
}
