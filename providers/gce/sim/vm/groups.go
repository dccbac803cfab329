package vm

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// maxGroup is the most instances of an unmanaged group: the page "Instance groups" documents 2,000.
const maxGroup = 2000

// Group is an unmanaged instance group.
type Group struct {
	core.Meta

	Zone        string      `json:"zone"`
	Network     string      `json:"network,omitempty"`
	Subnetwork  string      `json:"subnetwork,omitempty"`
	NamedPorts  []NamedPort `json:"namedPorts,omitempty"`
	Fingerprint string      `json:"fingerprint"`
	Size        int         `json:"size"`

	members []string
}

// NamedPort is the name of a port of all instances of a group.
type NamedPort struct {
	Name string `json:"name"`
	Port int    `json:"port"`
}

// Members returns the URLs of the instances of a group.
func (g *Group) Members() []string { return slices.Clone(g.members) }

func (g *Group) remove(url string) {
	if i := slices.Index(g.members, url); i >= 0 {
		g.members = slices.Delete(g.members, i, i+1)
		g.Size = len(g.members)
	}
}

var groups = core.Collection[*State, *Group]{Service: "instanceGroups", Name: "instanceGroups", Kind: "instanceGroup",
	Scope: "zones", New: func() *Group { return &Group{} }, Quota: core.QuotaInstanceGroups,
	Insert: (*State).insertGroup}

func groupMethods() []core.Method[*State] {
	return groups.Methods(
		core.Method[*State]{ID: "addInstances", Mutating: true, Permission: "update", Do: addInstances},
		core.Method[*State]{ID: "removeInstances", Mutating: true, Permission: "update", Do: removeInstances},
		core.Method[*State]{ID: "setNamedPorts", Mutating: true, Permission: "update", Do: setNamedPorts},
		core.Method[*State]{ID: "listInstances", Query: core.ListParameters(), Permission: "list", Do: listInstances})
}

func (s *State) groups() []*Group { return core.All[*Group](s.Core(), "instanceGroups") }

// insertGroup checks a group. Its network and subnet are those of its first instance; clients may set them before.
func (s *State) insertGroup(k *core.Call, g *Group) error {
	g.Zone = core.Ref{Project: k.Project(), Collection: "zones", Name: k.Params["zone"]}.URL()
	g.Size, g.Fingerprint = 0, core.Fingerprint(g.NamedPorts)
	if g.Network != "" {
		n, err := s.UseNetwork(k, "resource.network", g.Network)
		if err != nil {
			return err
		}
		g.Network = n.SelfLink
	}
	return checkPorts(g.NamedPorts)
}

func checkPorts(list []NamedPort) error {
	for _, p := range list {
		if err := core.CheckName("resource.namedPorts.name", p.Name); err != nil {
			return err
		}
		if p.Port < 1 || p.Port > 65535 {
			return core.Invalid("resource.namedPorts.port", strconv.Itoa(p.Port), "Must be between 1 and 65535.")
		}
	}
	return nil
}

// References names instances in a request.
type References struct {
	Instances []struct {
		Instance string `json:"instance"`
	} `json:"instances"`
}

// requestedInstances returns the instances in the body of a call, which all exist in the zone of the group.
func (s *State) requestedInstances(k *core.Call, g *Group) ([]*Instance, error) {
	var in References
	if err := core.Decode(k, &in); err != nil {
		return nil, err
	}
	if len(in.Instances) == 0 {
		return nil, core.Required("resource.instances")
	}
	var out []*Instance
	for _, ref := range in.Instances {
		i, err := s.UseInstance(k, "resource.instances", ref.Instance)
		if err != nil {
			return nil, err
		}
		if i.Ref().Scope != g.Ref().Scope || i.Ref().Project != g.Ref().Project {
			return nil, core.Invalid("resource.instances", ref.Instance, "The instance must be in the zone of the group.")
		}
		if slices.Contains(out, i) {
			return nil, core.Invalid("resource.instances", ref.Instance, "The instance is named twice.")
		}
		out = append(out, i)
	}
	return out, nil
}

// addInstances adds all instances of a request or none.
func addInstances(s *State, k *core.Call) (any, error) {
	g, err := groups.Find(s, k)
	if err != nil {
		return nil, err
	}
	list, err := s.requestedInstances(k, g)
	if err != nil {
		return nil, err
	}
	network, subnet := g.Network, g.Subnetwork
	for _, i := range list {
		nic := i.NetworkInterfaces[0]
		network, subnet = cmp.Or(network, nic.Network), cmp.Or(subnet, nic.Subnetwork)
		switch {
		case slices.Contains(g.members, i.SelfLink):
			return nil, core.BadRequest("memberAlreadyExists", "Resource '%s' is already a member of '%s'.", i.Ref(), g.Ref())
		case nic.Network != network || nic.Subnetwork != subnet:
			return nil, core.InvalidLate("resource.instances", i.SelfLink,
				"All instances of a group must be in the same network and subnetwork.")
		}
	}
	if len(g.members)+len(list) > maxGroup {
		return nil, core.BadRequest("limitExceeded", "Exceeded limit '%d' of instances of '%s'.", maxGroup, g.Ref())
	}
	if s.UserOf(g.Ref()) != nil {
		var urls []string
		for _, i := range list {
			urls = append(urls, i.SelfLink)
		}
		if err := s.checkBalancedOnce(g, urls); err != nil {
			return nil, err
		}
	}
	return s.Start(k, g, "addInstances", true, func() {
		g.Network, g.Subnetwork = network, subnet
		for _, i := range list {
			// It may have been deleted, or added by another operation.
			if s.exists(i) && !slices.Contains(g.members, i.SelfLink) {
				g.members = append(g.members, i.SelfLink)
			}
		}
		g.Size = len(g.members)
	})
}

func (s *State) exists(i *Instance) bool {
	found, err := core.Get[*Instance](s.Core(), i.Ref())
	return err == nil && found == i
}

// checkBalancedOnce checks that instances of a group that a backend service has, or gets, are in no other such group.
func (s *State) checkBalancedOnce(g *Group, members []string) error {
	for _, other := range s.groups() {
		if other == g || len(other.members) == 0 || s.UserOf(other.Ref()) == nil {
			continue
		}
		for _, member := range members {
			if slices.Contains(other.members, member) {
				return core.BadRequest("instanceInMultipleLoadBalancedIgs",
					"Validation failed for instance '%s': instance may belong to at most one load-balanced instance group.",
					core.ParseURL(member))
			}
		}
	}
	return nil
}

// UseGroup resolves the URL of a group for a backend service. None of its instances may be in another group of one.
func (s *State) UseGroup(k *core.Call, field, url string) (*Group, error) {
	r, err := core.ResolveURL(field, url, "instanceGroups", k.Target)
	if err != nil {
		return nil, err
	}
	if err := k.Permit("instanceGroups.use", r); err != nil {
		return nil, err
	}
	g, err := core.Use[*Group](s.Core(), r)
	if err != nil {
		return nil, err
	}
	return g, s.checkBalancedOnce(g, g.members)
}

// removeInstances removes all instances of a request or none.
func removeInstances(s *State, k *core.Call) (any, error) {
	g, err := groups.Find(s, k)
	if err != nil {
		return nil, err
	}
	list, err := s.requestedInstances(k, g)
	if err != nil {
		return nil, err
	}
	for _, i := range list {
		if !slices.Contains(g.members, i.SelfLink) {
			return nil, core.BadRequest("memberNotFound", "Resource '%s' is not a member of '%s'.", i.Ref(), g.Ref())
		}
	}
	return s.Start(k, g, "removeInstances", true, func() {
		for _, i := range list {
			g.remove(i.SelfLink)
		}
	})
}

func setNamedPorts(s *State, k *core.Call) (any, error) {
	g, err := groups.Find(s, k)
	if err != nil {
		return nil, err
	}
	var in struct {
		NamedPorts  []NamedPort `json:"namedPorts"`
		Fingerprint string      `json:"fingerprint"`
	}
	if err := core.Decode(k, &in); err != nil {
		return nil, err
	}
	if in.Fingerprint != "" && in.Fingerprint != g.Fingerprint {
		return nil, core.ErrFingerprint()
	}
	if err := checkPorts(in.NamedPorts); err != nil {
		return nil, err
	}
	return s.Start(k, g, "setNamedPorts", false, func() {
		g.NamedPorts, g.Fingerprint = in.NamedPorts, core.Fingerprint(in.NamedPorts)
	})
}

// member is an instance in the list of a group.
type member struct {
	core.Meta `json:"-"`

	Instance   string      `json:"instance"`
	Status     string      `json:"status"`
	NamedPorts []NamedPort `json:"namedPorts,omitempty"`
}

func listInstances(s *State, k *core.Call) (any, error) {
	g, err := groups.Find(s, k)
	if err != nil {
		return nil, err
	}
	var in struct {
		State string `json:"instanceState" enum:"ALL|RUNNING"`
	}
	if err := core.Decode(k, &in); err != nil {
		return nil, err
	}
	var out []*member
	for _, url := range slices.Sorted(slices.Values(g.members)) {
		i, err := core.Get[*Instance](s.Core(), core.ParseURL(url))
		if err == nil && (in.State != StatusRunning || i.Status == StatusRunning) {
			out = append(out, &member{Instance: url, Status: i.Status, NamedPorts: g.NamedPorts})
		}
	}
	return core.List(k, "compute#instanceGroupsListInstances", g.Ref().String()+"/listInstances", out)
}
