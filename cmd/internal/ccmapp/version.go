package ccmapp

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Values of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

// versionInfo is the output of ccm version -o json.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	// State of the checkout at build time: clean or dirty.
	State    string `json:"state,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Kubernetes is the release of the Kubernetes libraries, k8s.io/cloud-provider above all.
	Kubernetes string   `json:"kubernetes"`
	Providers  []string `json:"providers"`
}

func currentVersion() versionInfo {
	v := version.Get()
	info := versionInfo{
		Version: v.GitVersion, Commit: v.GitCommit, State: v.GitTreeState,
		Go: v.GoVersion, Platform: runtime.GOOS + "/" + runtime.GOARCH, Kubernetes: "unknown", Providers: provider.Names(),
	}
	if strings.Contains(info.Commit, "$Format") {
		// Built without the linker flags that stamp a version.
		info.Version, info.Commit = "v0.0.0-unstamped", "unknown"
	}
	if info.Providers == nil {
		info.Providers = []string{}
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range build.Deps {
			if dep.Path == "k8s.io/cloud-provider" {
				info.Kubernetes = dep.Version
			}
		}
	}
	return info
}

func newVersionCommand() *cobra.Command {
	output := outputText
	cmd := &cobra.Command{
		Use:   "version [-o json]",
		Short: "Print the version, that of the Kubernetes libraries, and the linked providers",
		Long: "Print the version of this binary, the release of the Kubernetes libraries in it, and the " +
			"providers that are linked.",
		Args:                  cli.NoArgs,
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return printVersion(cmd.OutOrStdout(), output) },
	}
	addOutputFlag(cmd, &output)
	return cmd
}

func printVersion(w io.Writer, output string) error {
	if err := checkOutput(output); err != nil {
		return err
	}
	info := currentVersion()
	if output == outputJSON {
		return printJSON(w, info)
	}
	commit := info.Commit
	if len(commit) > 12 {
		commit = commit[:12]
	}
	if info.State == "dirty" {
		commit += " with changes"
	}
	_, err := fmt.Fprintf(w, "ccm %s (commit %s, %s, %s)\nKubernetes libraries %s\nproviders: %s\n",
		info.Version, commit, info.Go, info.Platform, info.Kubernetes, strings.Join(info.Providers, ", "))
	return err
}

func addOutputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", *output, "Output format: text or json.")
}

func checkOutput(output string) error {
	if output != outputText && output != outputJSON {
		return cli.UsageErrorf("--output=%s: use text or json", output)
	}
	return nil
}

func printJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
