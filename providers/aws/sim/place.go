package sim

// Region is the region that is simulated.
func (c *Cloud) Region() string { return c.options.Region }

// ClusterID is the cluster's ID in the tags of the VPC's objects and of launched instances.
func (c *Cloud) ClusterID() string { return c.options.Cluster }

// VPC is the ID of the VPC that the cloud was built with.
func (c *Cloud) VPC() (id string) {
	c.look(func(t *tx) {
		if ids := sortedIDs(t.vpcs); len(ids) > 0 {
			id = ids[0]
		}
	})
	return id
}
