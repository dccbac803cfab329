package provider

// Capabilities are the interfaces of the framework that a provider implements. Its descriptor declares them, and the
// conformance suite verifies them.
type Capabilities struct {
	LoadBalancer, InstancesV2, Routes bool
}

// Capability describes one interface, for tables and documentation.
type Capability struct {
	// Name is the name of the framework's interface.
	Name string
	// Doc describes for users what it does.
	Doc string
	// Has is set if the provider implements it.
	Has bool
}

// List returns all capabilities in the order in which they are documented.
func (c Capabilities) List() []Capability {
	return []Capability{
		{"LoadBalancer", "Load balancers for Services of type LoadBalancer.", c.LoadBalancer},
		{"InstancesV2", "Provider ID, addresses, type, zone and region of nodes; removal of nodes with deleted machines.",
			c.InstancesV2},
		{"Routes", "Routes to the pods of each node, if the cloud's network needs them.", c.Routes},
	}
}

// Names returns the names of the interfaces that the provider implements.
func (c Capabilities) Names() []string {
	var names []string
	for _, capability := range c.List() {
		if capability.Has {
			names = append(names, capability.Name)
		}
	}
	return names
}

// Missing returns the name of the first needed interface that the provider does not implement, or "".
func (c Capabilities) Missing(needs Capabilities) string {
	have := c.List()
	for i, need := range needs.List() {
		if need.Has && !have[i].Has {
			return need.Name
		}
	}
	return ""
}
