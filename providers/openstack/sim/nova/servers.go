// Package nova simulates Nova.
package nova

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
)

// State has all objects by ID.
type State struct {
	Servers  map[string]*Server
	Flavors  map[string]*Flavor
	launched int
}

// NewState returns the state without objects.
func NewState() *State {
	return &State{Servers: map[string]*Server{}, Flavors: map[string]*Flavor{}}
}

// Tx is one operation on the state.
type Tx struct {
	*neutron.Tx
	*State
}

// Server is a server.
type Server struct {
	core.Object
	Name     string `json:"name"`
	Project  string `json:"tenant_id"`
	Status   string `json:"status"`
	Zone     string `json:"OS-EXT-AZ:availability_zone"`
	User     string `json:"user_id"`
	Host     string `json:"hostId"`
	Flavor   string `json:"flavor"`
	Metadata map[string]string
	created  time.Time
	updated  time.Time
	// ready is when the build of a server is complete.
	ready    time.Time
	PodCIDRs []string
}

// States of a server.
const (
	statusBuild   = "BUILD"
	StatusShutoff = "SHUTOFF"
)

// Flavor is a flavor of servers.
type Flavor struct {
	core.Object
	Name  string
	VCPUs int
	RAM   int
	Disk  int
	// Deleted flavors still belong to existing servers, and Nova shows them there.
	Deleted bool
}

// onServer returns an operation on the server that the call names.
func onServer(do func(*Tx, *Server) (any, error)) func(*Tx) (any, error) {
	return func(t *Tx) (any, error) {
		s, err := t.server()
		if err != nil {
			return nil, err
		}
		return do(t, s)
	}
}

func (t *Tx) server() (*Server, error) {
	s := t.Servers[t.Call.Params["id"]]
	if s == nil || !t.Call.May(s.Project) {
		return nil, core.Refuse(http.StatusNotFound, "itemNotFound", "Instance %s could not be found.", t.Call.Params["id"])
	}
	return s, nil
}

// maxPage bounds the number of servers and of flavors on a page.
const maxPage = 1000

// listServers lists the newest first, as Nova does.
func (t *Tx) listServers(view func(*Server) map[string]any) (any, error) {
	list := core.BySeq(t.Servers)
	slices.Reverse(list)
	list = core.Only(list, func(s *Server) bool { return t.Call.May(s.Project) })
	keep, err := t.serverFilter()
	if err != nil {
		return nil, err
	}
	page, links, err := core.Page(t.Base(), core.Only(list, keep), maxPage)
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

// serverFilter parses the filters that Nova offers to users. It ignores unknown filters and filters of administrators.
func (t *Tx) serverFilter() (func(*Server) bool, error) {
	q := t.Call.Query
	patterns := map[string]*regexp.Regexp{}
	for _, name := range []string{"name", "ip", "ip6"} {
		if text := q.Get(name); text != "" {
			if name == "name" {
				// The database matches names, and on MySQL Nova escapes every | (_safe_regex_mysql in nova/db/main/api.py):
				// alternatives find nothing.
				text = strings.ReplaceAll(text, "|", `\|`)
			}
			p, err := regexp.Compile(text)
			if err != nil {
				return nil, core.BadBody(core.ServiceCompute, "Invalid input for query parameters %s. Value: %s.", name, text)
			}
			patterns[name] = p
		}
	}
	return func(s *Server) bool {
		for name, p := range patterns {
			values := []string{s.Name}
			if name != "name" {
				values = t.serverIPs(s)
			}
			if !slices.ContainsFunc(values, p.MatchString) {
				return false
			}
		}
		return t.matchesValues(s)
	}, nil
}

// matchesValues reports whether a server has the values of the filters for status, flavor and zone.
func (t *Tx) matchesValues(s *Server) bool {
	q := t.Call.Query
	status, flavor, zone := q.Get("status"), q.Get("flavor"), q.Get("availability_zone")
	return (status == "" || strings.EqualFold(status, s.Status)) && (flavor == "" || flavor == s.Flavor) &&
		(zone == "" || zone == s.Zone || t.Call.Micro < microUserFilters)
}

// microUserFilters is the microversion since which users may filter by availability zone.
const microUserFilters = 83

func (t *Tx) serverIPs(s *Server) []string {
	var out []string
	for _, p := range t.PortsOfServer(s.ID) {
		for _, f := range p.FixedIPs {
			out = append(out, f.Address)
		}
	}
	return out
}

// PortsOfServer returns the ports of a server in the order in which they were attached.
func (t *Tx) PortsOfServer(id string) []*neutron.Port {
	return core.Only(core.BySeq(t.Ports), func(p *neutron.Port) bool {
		return p.DeviceID == id && strings.HasPrefix(p.DeviceOwner, neutron.OwnerCompute)
	})
}

func (t *Tx) serverStub(s *Server) map[string]any {
	return map[string]any{"id": s.ID, "name": s.Name, "links": t.links("/servers/" + s.ID)}
}

// links returns the links to an object of Nova.
func (t *Tx) links(path string) []core.Link {
	root := t.Call.Base + "/" + core.ServiceCompute
	return []core.Link{{Rel: "self", HRef: root + "/v2.1" + path}, {Rel: "bookmark", HRef: root + path}}
}

// vmStates returns Nova's VM state and power state of a server with a status.
func vmStates(status string) (vm string, power int) {
	switch status {
	case neutron.StatusActive:
		return "active", 1
	case statusBuild:
		return "building", 0
	case StatusShutoff:
		return "stopped", 4
	}
	return strings.ToLower(status), 4
}

func (t *Tx) serverView(s *Server) map[string]any {
	out := t.serverStub(s)
	vm, power := vmStates(s.Status)
	var task *string
	if s.Status == statusBuild {
		task = new("spawning")
	}
	groups := []any{}
	seen := map[string]bool{}
	for _, p := range t.PortsOfServer(s.ID) {
		for _, id := range p.Groups {
			if g := t.Groups[id]; g != nil && !seen[id] {
				seen[id] = true
				groups = append(groups, map[string]string{"name": g.Name})
			}
		}
	}
	maps.Copy(out, map[string]any{
		"status": s.Status, "tenant_id": s.Project, "user_id": s.User, "metadata": s.Metadata, "hostId": s.Host, "image": "",
		"key_name": nil, "accessIPv4": "", "accessIPv6": "", "addresses": t.serverAddresses(s),
		"flavor": t.serverFlavor(s), "config_drive": "", "security_groups": groups,
		"created": s.created.UTC().Format(neutron.TimeFormat), "updated": s.updated.UTC().Format(neutron.TimeFormat),
		"OS-DCF:diskConfig": "MANUAL", "OS-EXT-AZ:availability_zone": s.Zone, "OS-EXT-STS:vm_state": vm,
		"OS-EXT-STS:power_state": power, "OS-EXT-STS:task_state": task,
		"OS-SRV-USG:launched_at":   s.created.UTC().Format("2006-01-02T15:04:05.000000"),
		"OS-SRV-USG:terminated_at": nil, "os-extended-volumes:volumes_attached": []any{},
	})
	if s.Status == neutron.StatusActive {
		out["progress"] = 0
	}
	if t.Call.Micro >= 19 {
		out["description"] = s.Name
	}
	if t.Call.Micro >= 26 {
		out["tags"] = []string{}
	}
	if t.Call.Micro >= 9 {
		out["locked"] = false
	}
	return out
}

// serverFlavor returns a reference to the flavor of a server, or since 2.47 its properties at the launch.
func (t *Tx) serverFlavor(s *Server) any {
	f := t.Flavors[s.Flavor]
	if t.Call.Micro < 47 || f == nil {
		return map[string]any{"id": s.Flavor, "links": t.links("/flavors/" + s.Flavor)[1:]}
	}
	return map[string]any{"original_name": f.Name, "vcpus": f.VCPUs, "ram": f.RAM, "disk": f.Disk, "swap": 0,
		"ephemeral": 0, "extra_specs": map[string]string{}}
}

type serverAddress struct {
	Address string `json:"addr"`
	Version int    `json:"version"`
	MAC     string `json:"OS-EXT-IPS-MAC:mac_addr"`
	Type    string `json:"OS-EXT-IPS:type"`
}

func (t *Tx) serverAddresses(s *Server) map[string][]serverAddress {
	out := map[string][]serverAddress{}
	for _, p := range t.PortsOfServer(s.ID) {
		name := t.Networks[p.Network].Name
		for _, f := range p.FixedIPs {
			out[name] = append(out[name], serverAddress{Address: f.Address, Version: t.Subnets[f.Subnet].Version, MAC: p.MAC,
				Type: "fixed"})
			for _, a := range t.Addresses {
				if a.Port != nil && *a.Port == p.ID && a.Fixed != nil && *a.Fixed == f.Address {
					out[name] = append(out[name], serverAddress{Address: a.Address, Version: 4, MAC: p.MAC, Type: "floating"})
				}
			}
		}
	}
	return out
}

func (t *Tx) setMetadata(s *Server, replace bool) (any, error) {
	var in struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := json.Unmarshal(t.Call.Body, &in); err != nil || in.Metadata == nil {
		return nil, core.Malformed(core.ServiceCompute)
	}
	if replace {
		s.Metadata = map[string]string{}
	}
	maps.Copy(s.Metadata, in.Metadata)
	s.updated = t.Now
	return map[string]any{"metadata": s.Metadata}, nil
}

func (t *Tx) serverAction(s *Server) (any, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(t.Call.Body, &in); err != nil {
		return nil, core.Malformed(core.ServiceCompute)
	}
	for action := range in {
		from, to := neutron.StatusActive, StatusShutoff
		switch action {
		case "os-stop":
		case "os-start":
			from, to = to, from
		default:
			return nil, core.BadBody(core.ServiceCompute, "There is no such action: %s", action)
		}
		if s.Status != from {
			return nil, core.Refuse(http.StatusConflict, "conflictingRequest",
				"Cannot '%s' instance %s while it is in vm_state %s",
				strings.TrimPrefix(action, "os-"), s.ID, strings.ToLower(s.Status))
		}
		t.SetStatus(s, to)
	}
	return nil, nil
}

func (t *Tx) listInterfaces(s *Server) (any, error) {
	out := []any{}
	for _, p := range t.PortsOfServer(s.ID) {
		out = append(out, map[string]any{"port_state": p.Status, "fixed_ips": p.FixedIPs, "port_id": p.ID,
			"net_id": p.Network, "mac_addr": p.MAC})
	}
	return map[string]any{"interfaceAttachments": out}, nil
}

// SetStatus sets the status of a server. Its ports are up while it runs.
func (t *Tx) SetStatus(s *Server, status string) {
	s.Status, s.updated = status, t.Now
	for _, p := range t.PortsOfServer(s.ID) {
		switch status {
		case neutron.StatusActive:
			p.Status = neutron.StatusActive
		case StatusShutoff:
			p.Status = neutron.StatusDown
		}
	}
}

// FinishBuilds starts the servers with completed builds.
func (t *Tx) FinishBuilds() {
	for _, s := range t.Servers {
		if s.Status == statusBuild && !s.ready.IsZero() && !t.Now.Before(s.ready) {
			t.SetStatus(s, neutron.StatusActive)
		}
	}
}

// Terminate deletes a server and its ports.
func (t *Tx) Terminate(s *Server) {
	for _, p := range t.PortsOfServer(s.ID) {
		t.RemovePort(p)
	}
	delete(t.Servers, s.ID)
}
