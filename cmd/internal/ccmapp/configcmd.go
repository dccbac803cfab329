package ccmapp

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
)

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "config",
		Short:                 "Check a cloud's configuration file",
		Long:                  "Check a cloud's configuration file (cloud.conf).",
		Args:                  cli.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.UsageErrorf("no subcommand is given: use %s validate or convert", cmd.CommandPath())
		},
	}
	cmd.AddCommand(newValidateCommand(), newConvertCommand())
	return cmd
}

func newValidateCommand() *cobra.Command {
	s := source{strict: true}
	show := false
	cmd := &cobra.Command{
		Use:   "validate --cloud-provider=NAME --cloud-config=FILE",
		Short: "Report everything that is wrong with a configuration file",
		Long: `Report everything that is wrong with a cloud's configuration file: lines that
cannot be parsed, invalid values, and unknown sections and keys. Each problem is
one line with the file's name and line number. The command contacts neither the
cloud nor a cluster.

Exit codes: 0 when there is nothing to report, 2 when there is.`,
		Example: `  ccm config validate --cloud-provider=fake --cloud-config=cloud.conf
  ccm config validate --cloud-provider=fake --cloud-config=cloud.conf --show`,
		Args:                  cli.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return validateConfig(cmd, s, show)
		},
	}
	s.addFlags(cmd.Flags(), false)
	cmd.Flags().BoolVarP(&show, "show", "v", false, "Also print the effective configuration, defaults included, "+
		"secrets redacted.")
	return cmd
}

func newConvertCommand() *cobra.Command {
	s := source{}
	cmd := &cobra.Command{
		Use:   "convert --cloud-provider=NAME --cloud-config=FILE",
		Short: "Print a configuration file in the current form of its cloud",
		Long: `Print a configuration file in the current form of its cloud, for clouds with two
forms: INI and YAML on vSphere. The output has the secrets of the file, and no
comments.`,
		Example:               `  ccm config convert --cloud-provider=vsphere --cloud-config=vsphere.conf >vsphere.yaml`,
		Args:                  cli.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			clouds, err := s.clouds()
			if err != nil {
				return err
			}
			if len(clouds) > 1 {
				return cli.UsageErrorf("--%s=%s: name one cloud, because the output is one file", flagProvider, s.provider)
			}
			cloud := clouds[0]
			if cloud.ConvertConfig == nil {
				return cli.UsageErrorf("the configuration of %s has only one form", cloud.Title)
			}
			config, err := cloud.loadConfig()
			if err != nil {
				return err
			}
			if err := cloud.ConvertConfig(cmd.OutOrStdout(), config.file, config.content); err != nil {
				return cli.EnvironmentErrorf("%s cannot be converted: %v", cloud.configName(), err)
			}
			return nil
		},
	}
	s.addFlags(cmd.Flags(), false)
	return cmd
}

func validateConfig(cmd *cobra.Command, s source, show bool) error {
	clouds, err := s.clouds()
	if err != nil {
		return err
	}
	configs, err := loadConfigs(clouds)
	if err != nil {
		return err
	}
	for i, config := range configs {
		if show && clouds[i].ShowConfig != nil {
			if err := clouds[i].ShowConfig(cmd.OutOrStdout(), config.file, config.content); err != nil {
				return cli.EnvironmentErrorf("the configuration cannot be printed: %v", err)
			}
			fmt.Fprintln(cmd.OutOrStdout())
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "OK: %s is valid for %s\n",
			cmp.Or(config.file, "the configuration without a file"), clouds[i].Title)
		if err != nil {
			return cli.EnvironmentErrorf("the result cannot be printed: %v", err)
		}
	}
	return nil
}
