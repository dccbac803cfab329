package sim

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

type server struct {
	object
	Name     string `json:"name"`
	Project  string `json:"tenant_id"`
	Status   string `json:"status"`
	Zone     string `json:"OS-EXT-AZ:availability_zone"`
	User     string `json:"user_id"`
	Host     string `json:"hostId"`
	Flavor   string `json:"flavor"`
	Access4  string `json:"accessIPv4"`
	Access6  string `json:"accessIPv6"`
	metadata map[string]string
	created  time.Time
	updated  time.Time
	// ready is when a server that is being built runs.
	ready    time.Time
	podCIDRs []string
}

// States of a server.
const (
	statusBuild   = "BUILD"
	statusShutoff = "SHUTOFF"
)

type flavor struct {
	object
	Name  string
	vCPUs int
	ramMB int
	disk  int
	// deleted flavors are still what servers were made with, and Nova goes on to show them there.
	deleted bool
}

func serverOperations() []operation {
	return []operation{
		read("ListServers", "servers", func(t *tx) (any, error) { return t.listServers(t.serverStub) }),
		read("ListServersDetailed", "servers/detail", func(t *tx) (any, error) { return t.listServers(t.serverView) }),
		read("ShowServer", "servers/{id}", onServer(func(t *tx, s *server) (any, error) {
			return map[string]any{"server": t.serverView(s)}, nil
		})),
		remove("DeleteServer", "servers/{id}", func(t *tx) error {
			s, err := t.server()
			if err == nil {
				t.terminate(s)
			}
			return err
		}),
		write("RunServerAction", http.MethodPost, "servers/{id}/action", http.StatusAccepted, onServer((*tx).serverAction)),
		read("ListServerMetadata", "servers/{id}/metadata", onServer(func(_ *tx, s *server) (any, error) {
			return map[string]any{"metadata": s.metadata}, nil
		})),
		write("UpdateServerMetadata", http.MethodPost, "servers/{id}/metadata", http.StatusOK,
			func(t *tx) (any, error) { return t.setMetadata(false) }),
		change("ReplaceServerMetadata", "servers/{id}/metadata", func(t *tx) (any, error) { return t.setMetadata(true) }),
		remove("DeleteServerMetadataItem", "servers/{id}/metadata/{key}", func(t *tx) error {
			s, err := t.server()
			if err != nil {
				return err
			}
			if _, ok := s.metadata[t.call.params["key"]]; !ok {
				return refuse(http.StatusNotFound, "itemNotFound", "Metadata item was not found")
			}
			delete(s.metadata, t.call.params["key"])
			return nil
		}),
		read("ListPortInterfaces", "servers/{id}/os-interface", onServer((*tx).listInterfaces)),
	}
}

// onServer returns an operation on the server that the call names.
func onServer(do func(*tx, *server) (any, error)) func(*tx) (any, error) {
	return func(t *tx) (any, error) {
		s, err := t.server()
		if err != nil {
			return nil, err
		}
		return do(t, s)
	}
}

func (t *tx) server() (*server, error) {
	s := t.servers[t.call.params["id"]]
	if s == nil || !t.call.may(s.Project) {
		return nil, refuse(http.StatusNotFound, "itemNotFound", "Instance %s could not be found.", t.call.params["id"])
	}
	return s, nil
}

// listServers lists the newest first, as Nova does.
func (t *tx) listServers(view func(*server) map[string]any) (any, error) {
	list := bySeq(t.servers)
	slices.Reverse(list)
	list = only(list, func(s *server) bool { return t.call.may(s.Project) })
	keep, err := t.serverFilter()
	if err != nil {
		return nil, err
	}
	page, links, err := paged(t, only(list, keep), 1000)
	if err != nil {
		return nil, err
	}
	servers := make([]map[string]any, 0, len(page))
	for _, s := range page {
		servers = append(servers, view(s))
	}
	out := map[string]any{"servers": servers}
	if len(links) > 0 {
		out["servers_links"] = links
	}
	return out, nil
}

// serverFilter reads the filters that Nova offers to users. It ignores those that it does not know, and those that are
// an administrator's.
func (t *tx) serverFilter() (func(*server) bool, error) {
	q := t.call.query
	patterns := map[string]*regexp.Regexp{}
	for _, name := range []string{"name", "ip", "ip6"} {
		if text := q.Get(name); text != "" {
			p, err := regexp.Compile(text)
			if err != nil {
				return nil, badBody(serviceCompute, "Invalid input for query parameters %s. Value: %s.", name, text)
			}
			patterns[name] = p
		}
	}
	return func(s *server) bool {
		for name, p := range patterns {
			if name == "name" && !p.MatchString(s.Name) || name != "name" &&
				!slices.ContainsFunc(t.serverIPs(s), p.MatchString) {
				return false
			}
		}
		return t.hasValues(s)
	}, nil
}

// hasValues applies the filters that name a value.
func (t *tx) hasValues(s *server) bool {
	q := t.call.query
	if want := q.Get("status"); want != "" && !strings.EqualFold(want, s.Status) {
		return false
	}
	if want := q.Get("flavor"); want != "" && want != s.Flavor {
		return false
	}
	zone := q.Get("availability_zone")
	return zone == "" || t.call.micro < microUserFilters || zone == s.Zone
}

// microUserFilters is the microversion since which users may filter by availability zone.
const microUserFilters = 83

func (t *tx) serverIPs(s *server) []string {
	var out []string
	for _, p := range t.portsOfServer(s.ID) {
		for _, f := range p.FixedIPs {
			out = append(out, f.Address)
		}
	}
	return out
}

// portsOfServer returns in the order in which they were attached.
func (t *tx) portsOfServer(id string) []*port {
	var out []*port
	for _, p := range t.ports {
		if p.DeviceID == id && strings.HasPrefix(p.DeviceOwner, ownerCompute) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *port) int { return a.seq - b.seq })
	return out
}

func (t *tx) serverStub(s *server) map[string]any {
	self := t.call.base + "/" + serviceCompute
	return map[string]any{"id": s.ID, "name": s.Name, "links": []link{
		{Rel: "self", HRef: self + "/v2.1/servers/" + s.ID}, {Rel: "bookmark", HRef: self + "/servers/" + s.ID},
	}}
}

// vmStates returns Nova's words for power and task of a server, by status.
func vmStates(status string) (vm string, power int) {
	switch status {
	case statusActive:
		return "active", 1
	case statusBuild:
		return "building", 0
	case statusShutoff:
		return "stopped", 4
	}
	return strings.ToLower(status), 4
}

func (t *tx) serverView(s *server) map[string]any {
	out := t.serverStub(s)
	vm, power := vmStates(s.Status)
	var task *string
	if s.Status == statusBuild {
		spawning := "spawning"
		task = &spawning
	}
	groups := []any{}
	seen := map[string]bool{}
	for _, p := range t.portsOfServer(s.ID) {
		for _, id := range p.Groups {
			if g := t.groups[id]; g != nil && !seen[id] {
				seen[id] = true
				groups = append(groups, map[string]string{"name": g.Name})
			}
		}
	}
	maps.Copy(out, map[string]any{
		"status": s.Status, "tenant_id": s.Project, "user_id": s.User, "metadata": s.metadata, "hostId": s.Host, "image": "",
		"key_name":   nil,
		"accessIPv4": s.Access4, "accessIPv6": s.Access6, "addresses": t.serverAddresses(s), "flavor": t.flavorOf(s),
		"config_drive": "",
		"created":      s.created.UTC().Format(neutronTime), "updated": s.updated.UTC().Format(neutronTime),
		"security_groups":   groups,
		"OS-DCF:diskConfig": "MANUAL", "OS-EXT-AZ:availability_zone": s.Zone, "OS-EXT-STS:vm_state": vm,
		"OS-EXT-STS:power_state": power,
		"OS-EXT-STS:task_state":  task, "OS-SRV-USG:launched_at": s.created.UTC().Format("2006-01-02T15:04:05.000000"),
		"OS-SRV-USG:terminated_at":             nil,
		"os-extended-volumes:volumes_attached": []any{},
	})
	if s.Status == statusActive {
		out["progress"] = 0
	}
	if t.call.micro >= 19 {
		out["description"] = s.Name
	}
	if t.call.micro >= 26 {
		out["tags"] = []string{}
	}
	if t.call.micro >= 9 {
		out["locked"] = false
	}
	return out
}

// flavorOf returns a reference to the flavor, or since 2.47 what it was at the launch.
func (t *tx) flavorOf(s *server) any {
	f := t.flavors[s.Flavor]
	if t.call.micro < 47 || f == nil {
		return map[string]any{"id": s.Flavor, "links": []link{{Rel: "bookmark", HRef: t.call.base + "/" + serviceCompute +
			"/flavors/" + s.Flavor}}}
	}
	return map[string]any{"original_name": f.Name, "vcpus": f.vCPUs, "ram": f.ramMB, "disk": f.disk, "swap": 0,
		"ephemeral": 0, "extra_specs": map[string]string{}}
}

type serverAddress struct {
	Address string `json:"addr"`
	Version int    `json:"version"`
	MAC     string `json:"OS-EXT-IPS-MAC:mac_addr"`
	Type    string `json:"OS-EXT-IPS:type"`
}

func (t *tx) serverAddresses(s *server) map[string][]serverAddress {
	out := map[string][]serverAddress{}
	for _, p := range t.portsOfServer(s.ID) {
		name := t.networks[p.Network].Name
		for _, f := range p.FixedIPs {
			out[name] = append(out[name], serverAddress{Address: f.Address, Version: t.subnets[f.Subnet].Version, MAC: p.MAC,
				Type: "fixed"})
			for _, a := range t.addresses {
				if a.Port != nil && *a.Port == p.ID && a.Fixed != nil && *a.Fixed == f.Address {
					out[name] = append(out[name], serverAddress{Address: a.Address, Version: 4, MAC: p.MAC, Type: "floating"})
				}
			}
		}
	}
	return out
}

func (t *tx) setMetadata(replace bool) (any, error) {
	s, err := t.server()
	if err != nil {
		return nil, err
	}
	var in struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := json.Unmarshal(t.call.body, &in); err != nil || in.Metadata == nil {
		return nil, malformed(serviceCompute)
	}
	if replace {
		s.metadata = map[string]string{}
	}
	maps.Copy(s.metadata, in.Metadata)
	s.updated = t.now
	return map[string]any{"metadata": s.metadata}, nil
}

func (t *tx) serverAction(s *server) (any, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(t.call.body, &in); err != nil {
		return nil, malformed(serviceCompute)
	}
	for action := range in {
		from, to := statusActive, statusShutoff
		switch action {
		case "os-stop":
		case "os-start":
			from, to = to, from
		default:
			return nil, badBody(serviceCompute, "There is no such action: %s", action)
		}
		if s.Status != from {
			return nil, refuse(http.StatusConflict, "conflictingRequest", "Cannot '%s' instance %s while it is in vm_state %s",
				strings.TrimPrefix(action, "os-"), s.ID, strings.ToLower(s.Status))
		}
		t.setStatus(s, to)
	}
	return nil, nil
}

func (t *tx) listInterfaces(s *server) (any, error) {
	out := []any{}
	for _, p := range t.portsOfServer(s.ID) {
		out = append(out, map[string]any{"port_state": p.Status, "fixed_ips": p.FixedIPs, "port_id": p.ID,
			"net_id": p.Network, "mac_addr": p.MAC})
	}
	return map[string]any{"interfaceAttachments": out}, nil
}

// setStatus moves a server to a state. Its ports are up while it runs.
func (t *tx) setStatus(s *server, status string) {
	s.Status, s.updated = status, t.now
	for _, p := range t.portsOfServer(s.ID) {
		switch status {
		case statusActive:
			p.Status = statusActive
		case statusShutoff:
			p.Status = statusDown
		}
	}
}

// running finishes the build of a server.
func (t *tx) running(s *server) { t.setStatus(s, statusActive) }

// terminate deletes a server and its ports.
func (t *tx) terminate(s *server) {
	for _, p := range t.portsOfServer(s.ID) {
		t.removePort(p)
	}
	delete(t.servers, s.ID)
}
