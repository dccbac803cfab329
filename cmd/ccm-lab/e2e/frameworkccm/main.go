// Command frameworkccm is a cloud controller manager as Kubernetes' framework builds it, with the providers of this
// repository, and without the code of ccm. Tests compare it with ccm.
package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"

	_ "github.com/unified-ccm/unified-ccm/providers/aws"
	_ "github.com/unified-ccm/unified-ccm/providers/fake"
	_ "github.com/unified-ccm/unified-ccm/providers/gce"
	_ "github.com/unified-ccm/unified-ccm/providers/openstack"
	_ "github.com/unified-ccm/unified-ccm/providers/vsphere"
)

func main() {
	o, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		exit("reading the defaults of flags: %v", err)
	}
	command := app.NewCloudControllerManagerCommand(o, newCloud, app.DefaultInitFuncConstructors,
		names.CCMControllerAliases(), cliflag.NamedFlagSets{}, wait.NeverStop)
	os.Exit(cli.Run(command))
}

func exit(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

// newCloud returns the provider of --cloud-provider.
func newCloud(c *config.CompletedConfig) cloudprovider.Interface {
	options := c.ComponentConfig.KubeCloudShared.CloudProvider
	cloud, err := cloudprovider.InitCloudProvider(options.Name, options.CloudConfigFile)
	if err != nil || cloud == nil {
		exit("no cloud provider %q: %v", options.Name, err)
	}
	return variant(cloud, options.CloudConfigFile)
}
