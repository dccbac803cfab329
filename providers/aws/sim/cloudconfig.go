package sim

import (
	"fmt"
)

// CloudConfig returns the cloud.conf of a manager of the cluster, for a simulation that answers at endpoint. It names
// the cluster, so that the manager does not look for it in the metadata of an instance. The subnet is for the
// manager of Kubernetes' own cloud-provider-aws, which takes its VPC from here only with one. Credentials come
// from the environment.
func (c *Cloud) CloudConfig(endpoint string) string {
	config := fmt.Sprintf("[Global]\nRegion = %s\nVPC = %s\nSubnetID = %s\nKubernetesClusterID = %s\n",
		c.Region(), c.VPC(), c.Subnets(false)[0], c.ClusterID())
	for _, service := range []string{"EC2", "Elastic Load Balancing", "Elastic Load Balancing v2", "STS", "ec2imds"} {
		config += fmt.Sprintf("\n[ServiceOverride %q]\nService = %[1]s\nRegion = %[2]s\nURL = %[3]s\nSigningRegion = %[2]s\n",
			service, c.Region(), endpoint)
	}
	return config
}
