// Package api declares every call that this provider may make to Compute Engine: Calls has them on one page, with the
// permission that each needs.
package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// Place is where a collection is.
type Place int

// The places. Firewalls, routes, networks and subnets are in the project of the network.
const (
	Global Place = iota
	Region
	Zone
	Aggregated
	// Project is the project itself.
	Project
)

// Call is a method of the API.
type Call struct {
	Collection, Method string
	HTTP               string
	Place              Place
	// Network is set for the project of the network.
	Network bool
	// Permissions are those of the account, without the prefix compute.
	Permissions []string
}

// String returns the name in the API reference: forwardingRules.insert.
func (c *Call) String() string { return c.Collection + "." + c.Method }

// Mutates reports whether the call changes something.
func (c *Call) Mutates() bool { return c.HTTP != http.MethodGet && c.Method != "listInstances" }

// Target is what a call is about. Zone is set in a zone, Name for one object.
type Target struct{ Zone, Name string }

// API makes calls. Errors carry a class of package cloudapi.
type API interface {
	// Get reads an object.
	Get(ctx context.Context, call *Call, at Target, out any) error
	// List returns all pages. Of an aggregated list, it returns the items of all places. The error of one that not all
	// places have answered is a PartialError, with the items of the others.
	List(ctx context.Context, call *Call, at Target, query url.Values) ([]json.RawMessage, error)
	// Change makes a change and returns when it is done. Body may be nil. Repeated calls after a lost response are the
	// same change.
	Change(ctx context.Context, call *Call, at Target, body any) error
	// Environment returns the projects, the zone and the network. It makes calls at the first use.
	Environment(ctx context.Context) (Environment, error)
	// Link returns the URL of an object in a collection.
	Link(e Environment, call *Call, at Target) string
}

// Environment is where the manager works.
type Environment struct {
	// Project has the instances, NetworkProject the network. They are equal without a shared VPC.
	Project, NetworkProject string
	Zone, Region            string
	// Network is the URL of the network.
	Network string
}

// IsSharedVPC reports whether the network is in another project.
func (e Environment) IsSharedVPC() bool { return e.Project != e.NetworkProject }

// The calls of the provider. No other call is made.
var (
	InstancesList = aggregated("instances")
	InstancesGet  = get("instances", Zone)
	ZonesList     = list("zones", Global)
	ProjectsGet   = &Call{Collection: "projects", Method: "get", HTTP: http.MethodGet, Place: Project,
		Permissions: []string{"projects.get"}}

	NetworksGet     = inNetwork(get("networks", Global))
	SubnetworksList = inNetwork(list("subnetworks", Region))

	RoutesList   = inNetwork(list("routes", Global))
	RoutesInsert = inNetwork(insert("routes", Global, "networks.updatePolicy", "instances.use"))
	RoutesDelete = inNetwork(remove("routes", Global, "networks.updatePolicy"))

	FirewallsList   = inNetwork(list("firewalls", Global))
	FirewallsInsert = inNetwork(insert("firewalls", Global, "networks.updatePolicy"))
	FirewallsPatch  = inNetwork(change("firewalls", "patch", http.MethodPatch, Global, "firewalls.update",
		"networks.updatePolicy"))
	FirewallsDelete = inNetwork(remove("firewalls", Global, "networks.updatePolicy"))

	ForwardingRulesList   = list("forwardingRules", Region)
	ForwardingRulesGet    = get("forwardingRules", Region)
	ForwardingRulesInsert = insert("forwardingRules", Region, "targetPools.use", "regionBackendServices.use",
		"addresses.use", "addresses.useInternal", "subnetworks.use", "networks.use")
	ForwardingRulesPatch  = change("forwardingRules", "patch", http.MethodPatch, Region, "forwardingRules.update")
	ForwardingRulesDelete = remove("forwardingRules", Region)

	AddressesList   = list("addresses", Region)
	AddressesInsert = insert("addresses", Region, "addresses.createInternal", "subnetworks.use")
	AddressesDelete = remove("addresses", Region, "addresses.deleteInternal")

	TargetPoolsList           = list("targetPools", Region)
	TargetPoolsInsert         = insert("targetPools", Region, "httpHealthChecks.useReadOnly", "instances.use")
	TargetPoolsDelete         = remove("targetPools", Region)
	TargetPoolsAddInstance    = poolVerb("addInstance", "targetPools.addInstance", "instances.use")
	TargetPoolsRemoveInstance = poolVerb("removeInstance", "targetPools.removeInstance", "instances.use")
	TargetPoolsAddHealthCheck = poolVerb("addHealthCheck", "targetPools.addHealthCheck",
		"httpHealthChecks.useReadOnly")
	TargetPoolsRemoveHealthCheck = poolVerb("removeHealthCheck", "targetPools.removeHealthCheck",
		"httpHealthChecks.useReadOnly")

	BackendServicesList   = list("backendServices", Region)
	BackendServicesGet    = get("backendServices", Region)
	BackendServicesInsert = insert("backendServices", Region, "instanceGroups.use", "healthChecks.useReadOnly",
		"networks.use")
	BackendServicesUpdate = change("backendServices", "update", http.MethodPut, Region, "regionBackendServices.update",
		"instanceGroups.use", "healthChecks.useReadOnly")
	BackendServicesDelete = remove("backendServices", Region)

	HTTPHealthChecksList   = list("httpHealthChecks", Global)
	HTTPHealthChecksGet    = get("httpHealthChecks", Global)
	HTTPHealthChecksInsert = insert("httpHealthChecks", Global)
	HTTPHealthChecksUpdate = change("httpHealthChecks", "update", http.MethodPut, Global, "httpHealthChecks.update")
	HTTPHealthChecksDelete = remove("httpHealthChecks", Global)

	HealthChecksList   = list("healthChecks", Global)
	HealthChecksGet    = get("healthChecks", Global)
	HealthChecksInsert = insert("healthChecks", Global)
	HealthChecksUpdate = change("healthChecks", "update", http.MethodPut, Global, "healthChecks.update")
	HealthChecksDelete = remove("healthChecks", Global)

	InstanceGroupsList            = aggregated("instanceGroups")
	InstanceGroupsInsert          = insert("instanceGroups", Zone)
	InstanceGroupsDelete          = remove("instanceGroups", Zone)
	InstanceGroupsListInstances   = groupVerb("listInstances", "instanceGroups.list")
	InstanceGroupsAddInstances    = groupVerb("addInstances", "instanceGroups.update", "instances.use")
	InstanceGroupsRemoveInstances = groupVerb("removeInstances", "instanceGroups.update")
)

// Calls returns all calls, in the order of the page above.
func Calls() []*Call {
	return []*Call{
		InstancesList, InstancesGet, ZonesList, ProjectsGet, NetworksGet, SubnetworksList,
		RoutesList, RoutesInsert, RoutesDelete,
		FirewallsList, FirewallsInsert, FirewallsPatch, FirewallsDelete,
		ForwardingRulesList, ForwardingRulesGet, ForwardingRulesInsert, ForwardingRulesPatch, ForwardingRulesDelete,
		AddressesList, AddressesInsert, AddressesDelete,
		TargetPoolsList, TargetPoolsInsert, TargetPoolsDelete, TargetPoolsAddInstance,
		TargetPoolsRemoveInstance, TargetPoolsAddHealthCheck, TargetPoolsRemoveHealthCheck,
		BackendServicesList, BackendServicesGet, BackendServicesInsert, BackendServicesUpdate, BackendServicesDelete,
		HTTPHealthChecksList, HTTPHealthChecksGet, HTTPHealthChecksInsert, HTTPHealthChecksUpdate, HTTPHealthChecksDelete,
		HealthChecksList, HealthChecksGet, HealthChecksInsert, HealthChecksUpdate, HealthChecksDelete,
		InstanceGroupsList, InstanceGroupsInsert, InstanceGroupsDelete, InstanceGroupsListInstances,
		InstanceGroupsAddInstances, InstanceGroupsRemoveInstances,
	}
}

// OperationPermissions are the permissions to wait for changes, in each project.
func OperationPermissions(network bool) []string {
	if network {
		return []string{"globalOperations.get"}
	}
	return []string{"globalOperations.get", "regionOperations.get", "zoneOperations.get"}
}

func inNetwork(c *Call) *Call {
	c.Network = true
	return c
}

func get(collection string, place Place) *Call {
	return change(collection, "get", http.MethodGet, place, permission(collection, place, "get"))
}

func list(collection string, place Place) *Call {
	return change(collection, "list", http.MethodGet, place, permission(collection, place, "list"))
}

func aggregated(collection string) *Call {
	return change(collection, "aggregatedList", http.MethodGet, Aggregated, collection+".list")
}

func insert(collection string, place Place, more ...string) *Call {
	return change(collection, "insert", http.MethodPost, place,
		append([]string{permission(collection, place, "create")}, more...)...)
}

func remove(collection string, place Place, more ...string) *Call {
	return change(collection, "delete", http.MethodDelete, place,
		append([]string{permission(collection, place, "delete")}, more...)...)
}

// poolVerb is a method of a target pool.
func poolVerb(method string, permissions ...string) *Call {
	return change("targetPools", method, http.MethodPost, Region, permissions...)
}

func groupVerb(method string, permissions ...string) *Call {
	return change("instanceGroups", method, http.MethodPost, Zone, permissions...)
}

func change(collection, method, verb string, place Place, permissions ...string) *Call {
	return &Call{Collection: collection, Method: method, HTTP: verb, Place: place, Permissions: permissions}
}

// permission returns the permission of a method. Those of backend services in a region have another name.
func permission(collection string, place Place, verb string) string {
	if collection == "backendServices" && place == Region {
		collection = "regionBackendServices"
	}
	return collection + "." + verb
}
