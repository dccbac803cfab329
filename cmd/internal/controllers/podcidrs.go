package controllers

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	cpconfig "k8s.io/cloud-provider/config"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// PodCIDRFlags are the flags of node IPAM that the framework does not have. They have the names and meanings of
// kube-controller-manager's, which the managers of several clouds have too.
type PodCIDRFlags struct {
	mask, maskIPv4, maskIPv6 int
	services, secondary      string
}

// AddFlags adds the flags to a flag set.
func (f *PodCIDRFlags) AddFlags(fs *pflag.FlagSet) {
	fs.IntVar(&f.mask, podcidr.FlagMask, f.mask, "Prefix length of the podCIDR of a node, in clusters of one IP family. "+
		"0 is 24 for IPv4 and 64 for IPv6. Used if podCIDRs are allocated from --"+podcidr.FlagCluster+".")
	fs.IntVar(&f.maskIPv4, podcidr.FlagMaskIPv4, f.maskIPv4, "Prefix length of the IPv4 podCIDR of a node; 0 is 24.")
	fs.IntVar(&f.maskIPv6, podcidr.FlagMaskIPv6, f.maskIPv6, "Prefix length of the IPv6 podCIDR of a node; 0 is 64.")
	fs.StringVar(&f.services, podcidr.FlagService, f.services, "The ranges of Services, with a comma one of each IP "+
		"family: no podCIDR is allocated from them, and their families are those of podCIDRs that the cloud assigns.")
	fs.StringVar(&f.secondary, podcidr.FlagSecondary, f.secondary, "The range of Services of the second IP family, for "+
		"existing command lines: use --"+podcidr.FlagService+".")
}

// Config returns the ranges of the flags. The errors are about values that cannot be read, all at once.
func (f *PodCIDRFlags) Config(clusterCIDR string) (podcidr.Config, error) {
	cluster, clusterErr := ParseCIDRs(podcidr.FlagCluster, clusterCIDR)
	services, servicesErr := ParseCIDRs(podcidr.FlagService, f.services)
	secondary, secondaryErr := ParseCIDRs(podcidr.FlagSecondary, f.secondary)
	return podcidr.Config{
		Cluster: cluster, Services: append(services, secondary...),
		Mask: f.mask, MaskIPv4: f.maskIPv4, MaskIPv6: f.maskIPv6,
	}, errors.Join(clusterErr, servicesErr, secondaryErr)
}

// Check rejects ranges from which podCIDRs cannot be allocated, if a provider is about to. The filter is that of the
// Nodes which the manager sees.
func (f *PodCIDRFlags) Check(d provider.Descriptor, shared cpconfig.KubeCloudSharedConfiguration, controllers []string,
	filter string) error {
	fromRanges := shared.CIDRAllocatorType == nodeipam.RangeAllocator
	if !shared.AllocateNodeCIDRs || fromRanges && !d.AllocatesRanges || !IsEnabled(nodeipam.Name, d, controllers) {
		return nil
	}
	var err error
	if fromRanges {
		var config podcidr.Config
		if config, err = f.Config(shared.ClusterCIDR); err == nil {
			err = config.Validate()
		}
	}
	if filter != "" {
		err = errors.Join(err, fmt.Errorf("podCIDRs are not allocated with --node-filter-requirements: the podCIDRs of the "+
			"other nodes would not count as used; use --controllers=*,-%s", nodeipam.Name))
	}
	if err == nil {
		return nil
	}
	return &cli.ExitError{Code: cli.ExitUsage, Lines: cli.Messages(err)}
}
