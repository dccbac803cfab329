package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/providers/aws"
	"github.com/unified-ccm/unified-ccm/providers/fake"
)

// install installs the chart with the preset of the cloud, whose configuration is in a Secret, and waits until its
// pods are ready and the nodes are initialized.
func (c *cluster) install(values ...string) {
	c.t.Helper()
	c.step("installing the chart with the preset")
	c.createCloudConfig()
	args := []string{"install", release, chart(), "--values=" + chart() + "/presets/" + c.provider + ".yaml",
		"--set=clusterName=e2e,image.tag=" + version + ",cloudConfig.existingSecret=unified-ccm-cloud-config",
		"--set=args.node-monitor-period=1s,args.node-deletion-confirmation=1s", "--wait", "--timeout=3m"}
	_, err := c.helm(slices.Concat(args, c.environment("env"), values)...)
	c.must(err)
	c.awaitInitialized()
}

// createCloudConfig creates the Secret with the cloud's configuration.
func (c *cluster) createCloudConfig() {
	c.t.Helper()
	config := c.cloud.Config
	if c.provider == fake.ProviderName {
		config += "adopt-unknown-nodes = false\n"
	}
	_, err := c.kubectl("-n", system, "create", "secret", "generic", "unified-ccm-cloud-config",
		"--from-literal=cloud.conf="+config)
	c.must(err)
}

// environment are the values of a chart with the environment of its pods: where a cloud takes its credentials from
// there, those that the simulated one accepts.
func (c *cluster) environment(value string) []string {
	if c.provider != aws.ProviderName {
		return nil
	}
	return []string{
		"--set=" + value + "[0].name=AWS_ACCESS_KEY_ID," + value + "[0].value=AKIASIMULATED",
		"--set=" + value + "[1].name=AWS_SECRET_ACCESS_KEY," + value + "[1].value=simulated",
	}
}

// awaitInitialized waits until each node has its instance's provider ID and address, and no taint.
func (c *cluster) awaitInitialized() {
	c.t.Helper()
	c.step("waiting for initialized nodes")
	for name, m := range c.machines {
		c.await("node "+name, func(ctx context.Context) error {
			node, err := c.node(ctx, name)
			if err != nil {
				return err
			}
			if tainted(node, cloudproviderapi.TaintExternalCloudProvider) {
				return errors.New("it has the taint uninitialized")
			}
			if !strings.HasPrefix(node.Spec.ProviderID, c.provider+"://") {
				return fmt.Errorf("its provider ID is %q", node.Spec.ProviderID)
			}
			for _, address := range node.Status.Addresses {
				if address.Address == m.address {
					return nil
				}
			}
			return fmt.Errorf("its addresses are %v, without %s", node.Status.Addresses, m.address)
		})
	}
}

// holder returns the node of the pod that holds the lease.
func (c *cluster) holder(ctx context.Context) (string, error) {
	lease, err := c.plane.client.CoordinationV1().Leases(system).Get(ctx, leaseName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", errors.New("the lease has no holder")
	}
	node, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return node, nil
}
