package provider

// Capability is one job of a provider, for tables and documentation.
type Capability struct {
	// Name is the name of the framework's interface.
	Name string
	// Doc describes the job for users.
	Doc string
	Has func(Capabilities) bool
}

// AllCapabilities lists the jobs in the order in which they are documented.
func AllCapabilities() []Capability {
	return []Capability{
		{"LoadBalancer", "Load balancers for Services of type LoadBalancer.",
			func(c Capabilities) bool { return c.LoadBalancer }},
		{"InstancesV2", "Provider ID, addresses, type, zone and region of nodes; removal of nodes " +
			"with deleted machines.", func(c Capabilities) bool { return c.InstancesV2 }},
		{"Routes", "Routes to the pods of each node, if the cloud's network needs them.",
			func(c Capabilities) bool { return c.Routes }},
		{"Instances", "The older form of InstancesV2.", func(c Capabilities) bool { return c.Instances }},
		{"Zones", "The older interface for zones and regions.", func(c Capabilities) bool { return c.Zones }},
		{"Clusters", "The clusters that the cloud knows of.", func(c Capabilities) bool { return c.Clusters }},
	}
}

// Names returns the names of the supported jobs.
func (c Capabilities) Names() []string {
	var names []string
	for _, capability := range AllCapabilities() {
		if capability.Has(c) {
			names = append(names, capability.Name)
		}
	}
	return names
}
