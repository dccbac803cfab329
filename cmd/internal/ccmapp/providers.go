package ccmapp

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// providerInfo is an entry of the output of ccm providers -o json.
type providerInfo struct {
	Name         string                `json:"name"`
	Title        string                `json:"title"`
	Summary      string                `json:"summary"`
	Capabilities provider.Capabilities `json:"capabilities"`
}

func newProvidersCommand() *cobra.Command {
	output := outputText
	cmd := &cobra.Command{
		Use:                   "providers [-o json]",
		Short:                 "List the linked providers and what each one does",
		Long:                  "List the providers that are linked into this binary and which jobs each one does.",
		Args:                  cli.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			if output == outputJSON {
				list := []providerInfo{}
				for _, d := range provider.All() {
					list = append(list, providerInfo{d.Name, d.Title, d.Summary, d.Capabilities})
				}
				return printJSON(cmd.OutOrStdout(), list)
			}
			t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', 0)
			fmt.Fprintln(t, "NAME\tTITLE\tDOES")
			for _, d := range provider.All() {
				fmt.Fprintf(t, "%s\t%s\t%s\n", d.Name, d.Title, strings.Join(d.Capabilities.Names(), ", "))
			}
			return t.Flush()
		},
	}
	addOutputFlag(cmd, &output)
	return cmd
}

// registerForeignPrefixes registers the prefixes of Service annotations of clouds without a provider here.
// The descriptors of providers declare those of the other clouds.
func registerForeignPrefixes() {
	provider.RegisterForeignPrefixes("azure", "service.beta.kubernetes.io/azure-")
	provider.RegisterForeignPrefixes("hcloud", "load-balancer.hetzner.cloud/")
	provider.RegisterForeignPrefixes("digitalocean", "service.beta.kubernetes.io/do-loadbalancer-")
	provider.RegisterForeignPrefixes("oci", "service.beta.kubernetes.io/oci-", "oci.oraclecloud.com/")
	provider.RegisterForeignPrefixes("ibm", "service.kubernetes.io/ibm-load-balancer-cloud-provider-")
	provider.RegisterForeignPrefixes("linode", "service.beta.kubernetes.io/linode-loadbalancer-")
	provider.RegisterForeignPrefixes("scaleway", "service.beta.kubernetes.io/scw-loadbalancer-")
}
