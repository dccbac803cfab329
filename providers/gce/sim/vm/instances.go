package vm

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

// Status of instances.
const (
	statusStaging    = "STAGING"
	StatusRunning    = "RUNNING"
	StatusTerminated = "TERMINATED"
)

// DefaultType is the type of machines without one.
const DefaultType = "e2-medium"

// State has the machines of the cluster, beside the resources in the core's state.
type State struct {
	*vpc.State

	// Left is called with an instance that is deleted.
	Left func(*Instance)
	// Foreign are the routes that the manager does not own, by path.
	Foreign map[string]bool

	launched int
	// booting are the instances that are not RUNNING yet.
	booting []*Instance
}

// NewState returns a state without machines.
func NewState(s *vpc.State) *State {
	return &State{State: s, Foreign: map[string]bool{}, Left: func(*Instance) {}}
}

// Instance is a virtual machine.
type Instance struct {
	core.Meta
	core.Labels

	Zone              string             `json:"zone"`
	MachineType       string             `json:"machineType"`
	Status            string             `json:"status" enum:"DEPROVISIONING|PENDING|PENDING_STOP|PROVISIONING|REPAIRING|RUNNING|STAGING|STOPPED|STOPPING|SUSPENDED|SUSPENDING|TERMINATED"`
	CanIPForward      bool               `json:"canIpForward"`
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces"`
	Tags              Tags               `json:"tags"`
	Fingerprint       string             `json:"fingerprint"`
	Metadata          Metadata           `json:"metadata"`
	Hostname          string             `json:"hostname,omitempty"`

	podCIDRs []string
	ready    time.Time
}

// Metadata are keys and values of instances.
type Metadata struct {
	Kind        string         `json:"kind"`
	Fingerprint string         `json:"fingerprint"`
	Items       []MetadataItem `json:"items,omitempty"`
}

// MetadataItem is a key with its value.
type MetadataItem struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Tags are the network tags of an instance.
type Tags struct {
	Fingerprint string   `json:"fingerprint"`
	Items       []string `json:"items,omitempty"`
}

// NetworkInterface connects an instance to a network.
type NetworkInterface struct {
	Kind              string         `json:"kind"`
	Name              string         `json:"name"`
	Network           string         `json:"network"`
	Subnetwork        string         `json:"subnetwork"`
	NetworkIP         string         `json:"networkIP"`
	StackType         string         `json:"stackType" enum:"IPV4_IPV6|IPV4_ONLY|IPV6_ONLY"`
	IPv6Address       string         `json:"ipv6Address,omitempty"`
	IPv6AccessType    string         `json:"ipv6AccessType,omitempty" enum:"EXTERNAL|INTERNAL"`
	AccessConfigs     []AccessConfig `json:"accessConfigs,omitempty"`
	IPv6AccessConfigs []AccessConfig `json:"ipv6AccessConfigs,omitempty"`
	AliasIPRanges     []AliasRange   `json:"aliasIpRanges,omitempty"`
	Fingerprint       string         `json:"fingerprint"`
}

// AccessConfig is an external address of an interface.
type AccessConfig struct {
	Kind         string `json:"kind"`
	Type         string `json:"type" enum:"DIRECT_IPV6|ONE_TO_ONE_NAT"`
	Name         string `json:"name"`
	NatIP        string `json:"natIP,omitempty"`
	ExternalIPv6 string `json:"externalIpv6,omitempty"`
	NetworkTier  string `json:"networkTier"`
}

// AliasRange is a range of addresses of an interface.
type AliasRange struct {
	IPCIDRRange string `json:"ipCidrRange" format:"range"`
	RangeName   string `json:"subnetworkRangeName,omitempty"`
}

// updateInterface changes the alias ranges of an interface.
func (s *State) updateInterface(instances core.Collection[*Instance]) core.Method {
	m := core.Verb(instances, "updateNetworkInterface", "updateNetworkInterface",
		func(k *core.Call, i *Instance, in *NetworkInterface) (any, error) {
			name := k.Query.Get("networkInterface")
			at := slices.IndexFunc(i.NetworkInterfaces, func(n NetworkInterface) bool { return n.Name == name })
			if at < 0 {
				return nil, core.Invalid("networkInterface", name, "The instance has no such network interface.")
			}
			nic := &i.NetworkInterfaces[at]
			if in.Fingerprint != nic.Fingerprint {
				return nil, core.ErrFingerprint()
			}
			return s.Start(k, i, "updateNetworkInterface", false, func() { nic.setAliasRanges(in.AliasIPRanges) })
		})
	m.Verb, m.Query = http.MethodPatch, []string{"networkInterface"}
	return m
}

func (n *NetworkInterface) setAliasRanges(ranges []AliasRange) {
	n.AliasIPRanges, n.Fingerprint = ranges, core.Fingerprint(ranges)
}

// Launch starts a machine in the cluster's project.
func (s *State) Launch(m world.Machine) (*Instance, error) {
	o := s.Options
	zone := cmp.Or(m.Zone, o.Zones[s.launched%len(o.Zones)])
	if !slices.Contains(o.AllZones(), zone) {
		return nil, fmt.Errorf("zone %q is unknown: zones are %v", zone, o.AllZones())
	}
	if m.Name != "" && s.ByNodeName(m.Name) != nil {
		return nil, fmt.Errorf("machine %q exists", m.Name)
	}
	name := cmp.Or(m.Name, fmt.Sprintf("node-%d", s.launched+1))
	if err := core.CheckName("name", name); err != nil {
		return nil, err
	}
	nic, err := s.newInterface(core.RegionOf(zone))
	if err != nil {
		return nil, err
	}
	place := core.Ref{Project: o.Project, Collection: "zones", Name: zone}
	i := &Instance{Zone: place.URL(), MachineType: place.URL() + "/machineTypes/" + cmp.Or(m.Type, DefaultType),
		Status: statusStaging, CanIPForward: true, Tags: Tags{core.Fingerprint(o.Tags), slices.Clone(o.Tags)},
		Labels: core.Labels{LabelFingerprint: core.Fingerprint(nil)}, Metadata: Metadata{Kind: "compute#metadata",
			Fingerprint: core.Fingerprint(nil)}, podCIDRs: slices.Clone(m.PodCIDRs), ready: s.Clock.Now().Add(o.BootTime)}
	s.Add(i, "compute#instance", core.Ref{Project: o.Project, Scope: "zones/" + zone, Collection: "instances", Name: name})
	i.Fingerprint = core.Fingerprint(i.ID)
	s.Hold(nic.Network, netip.MustParseAddr(nic.NetworkIP), vpc.TierPremium, i.SelfLink)
	if o.PublicNodes {
		ip, err := s.FreeExternal(vpc.TierPremium)
		if err != nil {
			return nil, err
		}
		s.Hold("", ip, vpc.TierPremium, i.SelfLink)
		nic.AccessConfigs = []AccessConfig{{Kind: "compute#accessConfig", Type: "ONE_TO_ONE_NAT", Name: "External NAT",
			NatIP: ip.String(), NetworkTier: vpc.TierPremium}}
	}
	if o.Pods.IsValid() {
		if err := s.addAliasRange(i, &nic, m); err != nil {
			return nil, err
		}
	}
	i.NetworkInterfaces = []NetworkInterface{nic}
	s.launched++
	s.booting = append(s.booting, i)
	s.FinishBoots()
	return i, nil
}

// newInterface returns an interface in the cluster's network.
func (s *State) newInterface(region string) (NetworkInterface, error) {
	subnet, err := s.SubnetIn(region)
	if err != nil {
		return NetworkInterface{}, err
	}
	ip, err := s.FreeInternal(subnet)
	if err != nil {
		return NetworkInterface{}, err
	}
	nic := NetworkInterface{Kind: "compute#networkInterface", Name: "nic0", Network: subnet.Network,
		Subnetwork: subnet.SelfLink, NetworkIP: ip.String(), StackType: subnet.StackType}
	nic.Fingerprint = core.Fingerprint(nic.NetworkIP)
	if subnet.InternalIPv6Prefix != "" {
		v4 := ip.As4()
		nic.IPv6Address, nic.IPv6AccessType = fmt.Sprintf("fd20:a::%x:%x:0", int(v4[2]), int(v4[3])), "INTERNAL"
	}
	return nic, nil
}

// addAliasRange gives an interface a range for pods: that of the machine, or the next of the secondary range.
func (s *State) addAliasRange(i *Instance, nic *NetworkInterface, m world.Machine) error {
	pods := s.Options.Pods
	p := core.Shifted(netip.PrefixFrom(pods.Addr(), 24), s.launched)
	if len(m.PodCIDRs) > 0 {
		var err error
		if p, err = netip.ParsePrefix(m.PodCIDRs[0]); err != nil {
			return fmt.Errorf("pod range: %w", err)
		}
	} else if !pods.Contains(p.Addr()) {
		return fmt.Errorf("the range of pods %s has no range of 256 addresses left", pods)
	}
	nic.setAliasRanges([]AliasRange{{IPCIDRRange: p.String(), RangeName: "pods"}})
	i.podCIDRs = []string{p.String()}
	return nil
}

// PodCIDRs returns the ranges that the node of the machine has.
func (i *Instance) PodCIDRs() []string { return slices.Clone(i.podCIDRs) }

// FinishBoots makes instances RUNNING that are ready by now.
func (s *State) FinishBoots() {
	s.booting = slices.DeleteFunc(s.booting, func(i *Instance) bool {
		if i.ready.After(s.Clock.Now()) {
			return false
		}
		if i.Status == statusStaging {
			i.Status = StatusRunning
		}
		return true
	})
}

// Instances returns the instances of all projects.
func (s *State) Instances() []*Instance { return core.All[*Instance](s.Core(), "instances") }

// ByNodeName finds an instance of the cluster's project by its name, or nil.
func (s *State) ByNodeName(name string) *Instance {
	for _, zone := range s.Options.AllZones() {
		r := core.Ref{Project: s.Options.Project, Scope: "zones/" + zone, Collection: "instances", Name: name}
		if i, err := core.Get[*Instance](s.Core(), r); err == nil {
			return i
		}
	}
	return nil
}

// Machine finds the instance of a machine.
func (s *State) Machine(name string) (*Instance, error) {
	if i := s.ByNodeName(name); i != nil {
		return i, nil
	}
	return nil, fmt.Errorf("machine %q does not exist", name)
}
