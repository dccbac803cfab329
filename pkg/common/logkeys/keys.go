// Package logkeys lists the keys of structured log lines, so that one query finds an object in all lines.
package logkeys

// Key is a key of log lines.
type Key struct{ Name, Meaning string }

// All returns the keys, sorted by name.
func All() []Key {
	return []Key{
		{"action", "what a change does: create, update or delete"},
		{"after", "time until something is done or has been done"},
		{"annotations", "keys of annotations"},
		{"apiService", "service of the cloud's API that gets a request, such as ec2"},
		{"attempts", "number of attempts so far"},
		{"changes", "changes of a plan, in short"},
		{"code", "HTTP status of a response, or the class of the error without one"},
		{"destination", "destination of a route, in CIDR notation"},
		{"detail", "the full text of a warning"},
		{"duration", "time from sending a request to its response"},
		{"err", "error"},
		{"expires", "when credentials expire"},
		{"file", "path of a file"},
		{"holder", "identity of the holder of a lease"},
		{"instance", "ID of an instance"},
		{"instances", "IDs of instances, or their number"},
		{"kind", "kind of a cloud object"},
		{"lease", "name of the lease of the leader election"},
		{"name", "name of a cloud object"},
		{"node", "name of a Node"},
		{"nodes", "names of Nodes, or their number"},
		{"operation", "operation of the cloud's API"},
		{"orphans", "number of objects in the cloud that carry this cluster's mark and that nothing needs"},
		{"part", "part of the cloud that reports its health"},
		{"period", "time from one pass to the next"},
		{"plan", "plan as text"},
		{"podCIDRs", "pod ranges of a Node"},
		{"port", "ID of a network port"},
		{"ports", "IDs of network ports, or their number"},
		{"provider", "name of the provider, as in --cloud-provider"},
		{"providerID", "provider ID of a Node"},
		{"queue", "name of a work queue"},
		{"reason", "why something is done or not done"},
		{"refusedCreations", "number of creations that the cloud has refused"},
		{"requestID", "ID of a request, for the support of the cloud"},
		{"retryAfter", "time until the next attempt"},
		{"route", "name of a route"},
		{"router", "ID of a router or of a route table"},
		{"selector", "label selector"},
		{"sent", "whether a request was sent; false if the rate limiter or the context stopped it"},
		{"service", "namespace and name of a Service"},
		{"since", "when a state began"},
		{"stateFile", "file with the state of the simulated cloud"},
		{"status", "state of a cloud object, or of a change"},
		{"tags", "tags of a cloud object"},
		{"version", "version of this program"},
		{"waited", "time that a request waited for the rate limiter"},
	}
}
