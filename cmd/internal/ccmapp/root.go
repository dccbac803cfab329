package ccmapp

import (
	"context"

	"github.com/spf13/cobra"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
)

func newRoot(ctx context.Context, streams Streams) (*cobra.Command, error) {
	s, err := frameworkOptions()
	if err != nil {
		return nil, err
	}
	var own cliflag.NamedFlagSets
	var cloud cloudprovider.Interface
	initialize := func(*appconfig.CompletedConfig) cloudprovider.Interface { return guard.Wrap(cloud, guard.Options{}) }
	cmd := app.NewCloudControllerManagerCommand(s, initialize, constructors(), names.CCMControllerAliases(), own, ctx.Done())
	cmd.Use = "ccm"
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	explainDefaults(cmd.Flags())
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		shared := s.KubeCloudShared.CloudProvider
		c, err := cloudprovider.InitCloudProvider(shared.Name, shared.CloudConfigFile)
		if err != nil {
			return err
		}
		cloud = c
		return run(cmd, args)
	}
	return cmd, nil
}
