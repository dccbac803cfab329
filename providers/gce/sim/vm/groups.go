package vm

import (
	"cmp"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// maxGroup is the most instances of an unmanaged group: the page "Instance groups" documents 2,000.
const maxGroup = 2000

// Group is an unmanaged instance group.
type Group struct {
	core.Meta

	Zone        string      `json:"zone" set:"output"`
	Network     string      `json:"network,omitempty" link:"networks"`
	Subnetwork  string      `json:"subnetwork,omitempty" set:"output"`
	NamedPorts  []NamedPort `json:"namedPorts,omitempty"`
	Fingerprint string      `json:"fingerprint" set:"output"`
	Size        int         `json:"size" set:"output"`

	members []string
}

// NamedPort is the name of a port of all instances of a group.
type NamedPort struct {
	Name string `json:"name" set:"required" format:"name"`
	Port int    `json:"port" set:"required" range:"1-65535"`
}

// Members returns the URLs of the instances of a group, sorted.
func (g *Group) Members() []string { return slices.Sorted(slices.Values(g.members)) }

// CheckBalanced checks a group for a backend service: none of its instances may be in another group of one.
func (s *State) CheckBalanced(g *Group) error { return s.checkBalancedOnce(g, g.members) }

// Terminate deletes an instance: it leaves its groups and target pools, and its addresses are free.
func (s *State) Terminate(i *Instance) {
	s.Remove(i)
	for _, nic := range i.NetworkInterfaces {
		s.Release(nic.Network, nic.NetworkIP, i.SelfLink)
		for _, a := range nic.AccessConfigs {
			s.Release("", a.NatIP, i.SelfLink)
		}
	}
	for _, g := range s.groups() {
		g.remove(i.SelfLink)
	}
	s.Left(i)
}

func (g *Group) remove(url string) {
	if i := slices.Index(g.members, url); i >= 0 {
		g.members = slices.Delete(g.members, i, i+1)
		g.Size = len(g.members)
	}
}

// groupMethods returns the methods of groups. They have the network and the subnet of their first instance; clients may
// set the network before.
func (s *State) groupMethods() []core.Method {
	groups := core.Collection[*Group]{State: s.Core(), Name: "instanceGroups", Scope: "zones",
		Quota: core.QuotaInstanceGroups, Insert: func(*core.Call, *Group) error { return nil }}
	list := core.Reader(groups, "listInstances", "list", s.listInstances)
	list.Query = core.ListParameters()
	return groups.Methods(list,
		core.Verb(groups, "addInstances", "update", s.addInstances),
		core.Verb(groups, "removeInstances", "update", s.removeInstances),
		core.Verb(groups, "setNamedPorts", "update", s.setNamedPorts))
}

func (s *State) groups() []*Group { return core.All[*Group](s.Core(), "instanceGroups") }

// Members names instances in a request. The README says where the limit is from.
type Members struct {
	Instances []struct {
		Instance string `json:"instance" set:"required" link:"instances.use"`
	} `json:"instances" set:"required" most:"1000"`
}

// URLs returns the canonical URLs of the instances.
func (m *Members) URLs() []string {
	var out []string
	for _, ref := range m.Instances {
		out = append(out, ref.Instance)
	}
	return out
}

// membersFor returns the instances of a request, which must be in the zone of the group.
func (s *State) membersFor(g *Group, in *Members) ([]*Instance, error) {
	if url := core.Repeated(in.URLs()); url != "" {
		return nil, core.Invalid("resource.instances", url, "The instance is named twice.")
	}
	list := core.AllAt[*Instance](s.Core(), in.URLs())
	for _, i := range list {
		if i.Ref().Scope != g.Ref().Scope || i.Ref().Project != g.Ref().Project {
			return nil, core.Invalid("resource.instances", i.SelfLink, "The instance must be in the zone of the group.")
		}
	}
	return list, nil
}

// addInstances adds all instances of a request or none.
func (s *State) addInstances(k *core.Call, g *Group, in *Members) (any, error) {
	list, err := s.membersFor(g, in)
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
		if err := s.checkBalancedOnce(g, in.URLs()); err != nil {
			return nil, err
		}
	}
	return s.Start(k, g, "addInstances", true, func() {
		g.Network, g.Subnetwork = network, subnet
		for _, i := range list {
			// It may have been deleted, or added by another operation.
			if s.StillExists(i) && !slices.Contains(g.members, i.SelfLink) {
				g.members = append(g.members, i.SelfLink)
			}
		}
		g.Size = len(g.members)
	})
}

// StillExists reports whether an instance has not been deleted since, or replaced by one of its name.
func (s *State) StillExists(i *Instance) bool {
	found, _ := core.At[*Instance](s.Core(), i.SelfLink)
	return found == i
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

// removeInstances removes all instances of a request or none.
func (s *State) removeInstances(k *core.Call, g *Group, in *Members) (any, error) {
	list, err := s.membersFor(g, in)
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

type namedPorts struct {
	NamedPorts  []NamedPort `json:"namedPorts"`
	Fingerprint string      `json:"fingerprint"`
}

func (s *State) setNamedPorts(k *core.Call, g *Group, in *namedPorts) (any, error) {
	if in.Fingerprint != "" && in.Fingerprint != g.Fingerprint {
		return nil, core.ErrFingerprint()
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

type instanceState struct {
	State string `json:"instanceState" enum:"ALL|RUNNING"`
}

func (s *State) listInstances(k *core.Call, g *Group, in *instanceState) (any, error) {
	var out []*member
	for _, i := range core.AllAt[*Instance](s.Core(), g.Members()) {
		if in.State != StatusRunning || i.Status == StatusRunning {
			out = append(out, &member{Instance: i.SelfLink, Status: i.Status, NamedPorts: g.NamedPorts})
		}
	}
	return core.List(k, "compute#instanceGroupsListInstances", g.Ref().String()+"/listInstances", out)
}
