package chartvalues

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// NewCommand returns the command ccm chart-values. flags reports the flags of the manager.
func NewCommand(flags Flags) *cobra.Command {
	var file, from string
	cmd := &cobra.Command{
		Use:   "chart-values -f FILE",
		Short: "Convert the Helm values of a cloud's own manager into those of this chart",
		Long: `Convert the Helm values of a cloud's own manager into those of the chart
unified-ccm, and print them. Keys without an equivalent are listed on standard
error with what to do. The command contacts neither the cloud nor a cluster.

Values that the file does not set have the defaults of that manager's chart:
those that differ from the defaults of this chart are part of the result.

Exit codes: 0 when the values are converted, 2 when they cannot be.`,
		Example: `  helm get values aws-cloud-controller-manager -n kube-system -o yaml >theirs.yaml
  ccm chart-values -f theirs.yaml >values.yaml

  # The defaults of a chart
  ccm chart-values --from=openstack-cloud-controller-manager`,
		Args:                  cli.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			values, err := read(file, from, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return run(cmd, from, values, flags)
		},
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "File with the values of the other chart; - is standard input.")
	cmd.Flags().StringVar(&from, "from", "",
		"Name of the other chart: "+chartNames()+". Needed only if the values do not show it.")
	return cmd
}

// read returns the values of the file; without one, the defaults of the chart.
func read(file, from string, stdin io.Reader) (map[string]any, error) {
	if file == "" {
		if from == "" {
			return nil, cli.UsageErrorf("-f is not set: name the file with the values of the other chart, or print the " +
				"defaults of a chart with --from")
		}
		return nil, nil
	}
	content, err := cli.ReadFile(file, stdin)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := yaml.Unmarshal(content, &values); err != nil {
		return nil, cli.UsageErrorf("-f %s: not a YAML file with values: %s", file,
			strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	// The titles that helm get values prints without -o yaml.
	delete(values, "USER-SUPPLIED VALUES")
	delete(values, "COMPUTED VALUES")
	return values, nil
}

func run(cmd *cobra.Command, from string, values map[string]any, flags Flags) error {
	ch, err := findChart(from, values)
	if err != nil {
		return cli.UsageErrorf("%v", err)
	}
	result, err := ch.Convert(values, flags)
	if err != nil {
		return cli.UsageErrors(err)
	}
	content, err := yaml.Marshal(result.Values)
	if err != nil {
		return cli.EnvironmentErrorf("the values cannot be written: %v", err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "# Values of the chart unified-ccm, converted from those of %s.\n%s", ch.name,
		content)
	for _, n := range append(result.Notes, configNotes(result.Values)...) {
		fmt.Fprintf(cmd.ErrOrStderr(), "ccm: note: %s: %s\n", n.Key, n.Action)
	}
	return err
}

// configNotes returns the problems of the converted cloud.conf: the other manager ignores most of them.
func configNotes(values map[string]any) (notes []Note) {
	name, _ := values["cloudProvider"].(string)
	config, _ := values["cloudConfig"].(map[string]any)
	content, _ := config["content"].(string)
	d, linked := provider.Get(name)
	if content == "" || !linked || d.ValidateConfig == nil {
		return nil
	}
	problems, err := d.ValidateConfig("cloud.conf", []byte(content))
	if err != nil {
		problems = append(strings.Split(err.Error(), "\n"), problems...)
	}
	for _, problem := range problems {
		notes = append(notes, Note{Key: "cloudConfig.content", Action: problem})
	}
	return notes
}
