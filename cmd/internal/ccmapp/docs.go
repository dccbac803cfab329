package ccmapp

import (
	"github.com/spf13/cobra"
)

func newDocsCommand(o *options) *cobra.Command {
	return &cobra.Command{Use: "docs", Hidden: true, Args: noSuchCommand}
}
