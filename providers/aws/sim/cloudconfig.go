package sim

import "fmt"

// CloudConfig returns the cloud.conf of a manager of the cluster, for a simulation at endpoint. It contains
// the cluster's ID, so that the manager does not read it from the metadata of an instance. The subnet is for
// Kubernetes' own cloud-provider-aws, which reads its VPC from here only with a subnet. Credentials come from
// the environment.
func (c *Cloud) CloudConfig(endpoint string) string {
	config := fmt.Sprintf("[Global]\nRegion = %s\nVPC = %s\nSubnetID = %s\nKubernetesClusterID = %s\n",
		c.Region(), c.VPC(), c.Subnets(false)[0], c.ClusterID())
	for _, service := range []string{"EC2", "Elastic Load Balancing", "Elastic Load Balancing v2", "STS", "ec2imds"} {
		config += fmt.Sprintf("\n[ServiceOverride %q]\nService = %[1]s\nRegion = %[2]s\nURL = %[3]s\nSigningRegion = %[2]s\n",
			service, c.Region(), endpoint)
	}
	return config
}
