package provider

// Capabilities are the jobs of a provider: the framework's interfaces that it implements. They are declared
// in its descriptor and verified by the conformance suite.
type Capabilities struct {
	LoadBalancer, InstancesV2, Routes bool
}

// Capability is one job, for tables and documentation.
type Capability struct {
	// Name is the name of the framework's interface.
	Name string
	// Doc describes the job for users.
	Doc string
	Has bool
}

// List returns all jobs in the order in which they are documented.
func (c Capabilities) List() []Capability {
	return []Capability{
		{"LoadBalancer", "Load balancers for Services of type LoadBalancer.", c.LoadBalancer},
		{"InstancesV2", "Provider ID, addresses, type, zone and region of nodes; removal of nodes with deleted machines.",
			c.InstancesV2},
		{"Routes", "Routes to the pods of each node, if the cloud's network needs them.", c.Routes},
	}
}

// Names returns the names of the supported jobs.
func (c Capabilities) Names() []string {
	var names []string
	for _, capability := range c.List() {
		if capability.Has {
			names = append(names, capability.Name)
		}
	}
	return names
}

// Missing returns the name of a needed job that the provider does not do, or "".
func (c Capabilities) Missing(needs Capabilities) string {
	have := c.List()
	for i, need := range needs.List() {
		if need.Has && !have[i].Has {
			return need.Name
		}
	}
	return ""
}
