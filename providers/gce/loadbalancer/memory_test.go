package loadbalancer

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// memory is an api.API in memory, with the rules that plans depend on: names are unique, and what is referred to cannot
// be deleted. The simulator has all others.
type memory struct {
	mu          sync.Mutex
	environment api.Environment
	// objects are documents by path behind the project.
	objects map[string]map[string]any
	// log has the names of all calls; denied are the calls that are denied.
	log    []string
	denied map[string]bool
	nextIP int
	// failing counts down to the call that fails; 0 for none.
	failing int
	// strict refuses to remove instances that are no members.
	strict bool
	// machines refuses to add instances that are no objects.
	machines bool
	// custom refuses internal forwarding rules without a subnet; keepUsed refuses to release addresses in use.
	custom, keepUsed bool
	// silent are the zones that do not answer.
	silent []string
	// stuck are calls whose operations do not end.
	stuck map[string]bool
}

func newMemory() *memory {
	m := &memory{objects: map[string]map[string]any{}, denied: map[string]bool{}, stuck: map[string]bool{}}
	m.environment = api.Environment{Project: "p", NetworkProject: "p", Zone: "r1-b", Region: "r1",
		Network: "https://www.googleapis.com/compute/v1/projects/p/global/networks/n"}
	m.put("global/networks/n", map[string]any{"name": "n"})
	return m
}

func (m *memory) Environment(context.Context) (api.Environment, error) { return m.environment, nil }

func (m *memory) Link(e api.Environment, call *api.Call, at api.Target) string {
	project := e.Project
	if call.Network {
		project = e.NetworkProject
	}
	return "https://www.googleapis.com/compute/v1/projects/" + project + "/" + m.path(call, at)
}

func (m *memory) path(call *api.Call, at api.Target) string {
	place := map[api.Place]string{api.Global: "global", api.Region: "regions/r1", api.Zone: "zones/" + at.Zone}[call.Place]
	return strings.Trim(place+"/"+call.Collection+"/"+at.Name, "/")
}

func (m *memory) put(path string, object map[string]any) { m.objects[path] = object }

func (m *memory) begin(call *api.Call) (func(), error) {
	m.mu.Lock()
	m.log = append(m.log, call.String())
	if m.failing--; m.failing == 0 {
		return m.mu.Unlock, failed(call, cloudapi.Unavailable, "backendError")
	}
	if m.denied[call.String()] {
		return m.mu.Unlock, failed(call, cloudapi.Denied, "forbidden")
	}
	return m.mu.Unlock, nil
}

func failed(call *api.Call, class cloudapi.Class, reason string) error {
	return &cloudapi.Error{Class: class, Operation: call.String(), Err: &api.Error{Reasons: []string{reason}}}
}

func (m *memory) Get(_ context.Context, call *api.Call, at api.Target, out any) error {
	unlock, err := m.begin(call)
	defer unlock()
	if err != nil {
		return err
	}
	object, ok := m.objects[m.path(call, at)]
	if !ok {
		return failed(call, cloudapi.NotFound, "notFound")
	}
	return json.Unmarshal(encode(object), out)
}

func encode(value any) []byte {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return content
}

func (m *memory) List(_ context.Context, call *api.Call, at api.Target, query url.Values) ([]json.RawMessage, error) {
	unlock, err := m.begin(call)
	defer unlock()
	if err != nil {
		return nil, err
	}
	if call == api.InstanceGroupsListInstances {
		group, ok := m.objects[m.path(call, at)]
		if !ok {
			return nil, failed(call, cloudapi.NotFound, "notFound")
		}
		var out []json.RawMessage
		for _, link := range stringsOf(group["members"]) {
			out = append(out, encode(map[string]any{"instance": link}))
		}
		return out, nil
	}
	name, _ := strings.CutPrefix(query.Get("filter"), "name eq ")
	name, isPrefix := strings.CutSuffix(name, ".*")
	var out []json.RawMessage
	for _, path := range slices.Sorted(maps.Keys(m.objects)) {
		parts := strings.Split(path, "/")
		if call.Place == api.Aggregated && slices.Contains(m.silent, parts[1]) {
			continue
		}
		if len(parts) >= 3 && parts[len(parts)-2] == call.Collection && (name == "" || parts[len(parts)-1] == name ||
			isPrefix && strings.HasPrefix(parts[len(parts)-1], name)) {
			object := m.objects[path]
			if call == api.AddressesList {
				object = m.withUsers(object)
			}
			out = append(out, encode(object))
		}
	}
	if call.Place == api.Aggregated {
		return out, (&api.PartialError{Call: call, Places: m.silent}).OrNil()
	}
	return out, nil
}

func stringsOf(value any) []string {
	var out []string
	list, _ := value.([]any)
	for _, item := range list {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

func (m *memory) Change(_ context.Context, call *api.Call, at api.Target, body any) error {
	unlock, err := m.begin(call)
	defer unlock()
	if err != nil {
		return err
	}
	var sent map[string]any
	if body != nil {
		if err := json.Unmarshal(encode(body), &sent); err != nil {
			return err
		}
	}
	if m.stuck[call.String()] {
		return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: call.String(), Err: api.ErrRunning}
	}
	if slices.Contains(m.silent, at.Zone) {
		return failed(call, cloudapi.Unavailable, "backendError")
	}
	if call.Method == "insert" {
		return m.insert(call, at, sent)
	}
	path := m.path(call, at)
	object, ok := m.objects[path]
	if !ok {
		return failed(call, cloudapi.NotFound, "notFound")
	}
	switch call.Method {
	case "delete": //nolint:usestdlibvars // a method of the API
		if m.isReferredTo(path) || m.keepUsed && call == api.AddressesDelete && m.withUsers(object)["users"].([]any) != nil {
			return failed(call, cloudapi.Conflict, "resourceInUseByAnotherResource")
		}
		delete(m.objects, path)
	case "update":
		m.objects[path] = sent
	case "patch": //nolint:usestdlibvars // a method of the API
		maps.Copy(object, sent)
	case "addInstance", "addInstances", "removeInstance", "removeInstances":
		return m.changeMembers(call, object, sent)
	case "addHealthCheck":
		object["healthChecks"] = []any{sent["healthChecks"].([]any)[0].(map[string]any)["healthCheck"]}
	case "removeHealthCheck":
		delete(object, "healthChecks")
	}
	return nil
}

func (m *memory) insert(call *api.Call, at api.Target, sent map[string]any) error {
	at.Name, _ = sent["name"].(string)
	path := m.path(call, at)
	if _, exists := m.objects[path]; exists {
		return failed(call, cloudapi.AlreadyExists, "alreadyExists")
	}
	for _, link := range stringsOf(sent["instances"]) {
		if m.machines && m.objects[api.Path(link)] == nil {
			return failed(call, cloudapi.Invalid, "invalid")
		}
	}
	sent["selfLink"] = m.Link(m.environment, call, at)
	sent["kind"] = "compute#" + call.Collection
	switch call.Collection {
	case "forwardingRules":
		if m.custom && sent["loadBalancingScheme"] == api.SchemeInternal && sent["subnetwork"] == nil {
			return failed(call, cloudapi.Invalid, "invalid")
		}
		if sent["IPAddress"] == nil {
			m.nextIP++
			sent["IPAddress"] = fmt.Sprintf("203.0.113.%d", m.nextIP)
		}
	case "addresses":
		if sent["address"] == nil {
			m.nextIP++
			sent["address"] = fmt.Sprintf("203.0.113.%d", m.nextIP)
			if subnet := m.objects[api.Path(fmt.Sprint(sent["subnetwork"]))]; subnet != nil {
				start := strings.TrimSuffix(fmt.Sprint(subnet["ipCidrRange"]), "0.0/16")
				sent["address"] = fmt.Sprintf("%s2.%d", start, m.nextIP)
			}
		}
	case "instanceGroups":
		sent["zone"] = "https://www.googleapis.com/compute/v1/projects/p/zones/" + at.Zone
	}
	m.objects[path] = sent
	return nil
}

// withUsers returns an address with the forwarding rules that have it.
func (m *memory) withUsers(address map[string]any) map[string]any {
	if address["users"] != nil {
		return address
	}
	var users []any
	for path, object := range m.objects {
		if strings.Contains(path, "/forwardingRules/") && object["IPAddress"] == address["address"] {
			users = append(users, "https://www.googleapis.com/compute/v1/projects/p/"+path)
		}
	}
	address = maps.Clone(address)
	address["users"] = users
	return address
}

// isReferredTo reports whether another object has the URL of one.
func (m *memory) isReferredTo(path string) bool {
	for other, object := range m.objects {
		if other != path && strings.Contains(strings.ReplaceAll(string(encode(object)), `"selfLink":"`, "x"), "/projects/p/"+path+`"`) {
			return true
		}
	}
	return false
}

func (m *memory) changeMembers(call *api.Call, object, sent map[string]any) error {
	field := "instances"
	if call.Collection == "instanceGroups" {
		field = "members"
	}
	members := stringsOf(object[field])
	if m.machines && strings.HasPrefix(call.Method, "add") {
		for _, item := range sent["instances"].([]any) {
			if m.objects[api.Path(fmt.Sprint(item.(map[string]any)["instance"]))] == nil {
				return failed(call, cloudapi.NotFound, "notFound")
			}
		}
	}
	if m.strict && strings.HasPrefix(call.Method, "remove") {
		for _, item := range sent["instances"].([]any) {
			if !slices.Contains(members, fmt.Sprint(item.(map[string]any)["instance"])) {
				return failed(call, cloudapi.NotFound, "notFound")
			}
		}
	}
	for _, item := range sent["instances"].([]any) {
		link := fmt.Sprint(item.(map[string]any)["instance"])
		members = slices.DeleteFunc(members, func(have string) bool { return api.InstanceID(have) == api.InstanceID(link) })
		if strings.HasPrefix(call.Method, "add") {
			members = append(members, link)
		}
	}
	list := make([]any, len(members))
	for i, member := range members {
		list[i] = member
	}
	object[field] = list
	return nil
}

// failAfter makes one of the next calls fail, 1 for the first; 0 for none.
func (m *memory) failAfter(calls int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing = calls
}

// names returns the names of the objects in a collection.
func (m *memory) names(collection string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for path := range m.objects {
		if strings.Contains(path, "/"+collection+"/") {
			out = append(out, path[strings.LastIndex(path, "/")+1:])
		}
	}
	slices.Sort(out)
	return out
}

// object returns a document.
func (m *memory) object(t testing.TB, path string) map[string]any {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	object, ok := m.objects[path]
	if !ok {
		t.Fatalf("%s does not exist; there are %q", path, slices.Sorted(maps.Keys(m.objects)))
	}
	return object
}

// calls returns the calls since the last one of this function: reads and changes.
func (m *memory) calls() (reads, changes []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range m.log {
		i := slices.IndexFunc(api.Calls(), func(c *api.Call) bool { return c.String() == name })
		if api.Calls()[i].Mutates() {
			changes = append(changes, name)
		} else {
			reads = append(reads, name)
		}
	}
	m.log = nil
	return reads, changes
}
