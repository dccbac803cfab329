package instances

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// networkAge is the max age of the network of an instance. The periodic reads of nodes renew it every 5 minutes; an
// instance that is created again under its name may have another one.
const networkAge = 10 * time.Minute

// networks are the networks of instances, as they were read last. It is safe for concurrent use.
type networks struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	byID map[string]network
}

// network is what firewalls and podCIDRs need of an instance.
type network struct {
	tags []string
	pods PodNetwork
	at   time.Time
}

// PodNetwork has the ranges of the first interface of an instance.
type PodNetwork struct {
	Aliases []api.AliasIPRange
	// IPv6 is the address of the interface; "" without one.
	IPv6 string
}

func newNetworks(c clock.PassiveClock) *networks {
	return &networks{clock: c, byID: map[string]network{}}
}

func (n *networks) record(found []api.Instance) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, i := range found {
		n.byID[names.InstanceID(api.Last(i.Zone), i.Name)] = network{i.Tags.Items, podNetwork(i), n.clock.Now()}
	}
}

// forget removes instances that no read has returned for long, but those of zones that do not answer.
func (n *networks) forget(silent []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, entry := range n.byID {
		zone, _ := names.SplitInstanceID(id)
		if n.clock.Since(entry.at) >= 2*networkAge && !slices.Contains(silent, zone) {
			delete(n.byID, id)
		}
	}
}

// podNetwork returns the ranges of nic0, or else of the first interface.
func podNetwork(i api.Instance) PodNetwork {
	if len(i.Interfaces) == 0 {
		return PodNetwork{}
	}
	nic := i.Interfaces[0]
	if at := slices.IndexFunc(i.Interfaces, func(n api.NetworkInterface) bool { return n.Name == "nic0" }); at > 0 {
		nic = i.Interfaces[at]
	}
	return PodNetwork{nic.AliasIPRanges, IPv6Of(nic)}
}

// IPv6Of returns the IPv6 address of an interface: the internal one or, with external access, the last external one; ""
// without one.
func IPv6Of(nic api.NetworkInterface) string {
	ip := nic.IPv6Address
	if nic.IPv6AccessType == "EXTERNAL" {
		for _, access := range nic.IPv6AccessConfigs {
			ip = cmp.Or(access.ExternalIPv6, ip)
		}
	}
	return ip
}

// of returns the network of an instance as it was read last, and whether that is fresh.
func (n *networks) of(id string) (network, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	entry, ok := n.byID[id]
	return entry, ok && n.clock.Since(entry.at) < networkAge
}

// Tags are the network tags that select nodes in firewalls.
type Tags struct {
	// Tags are sorted.
	Tags []string
	// Untagged are the names of the instances without a tag that could select them, sorted.
	Untagged []string
	// Partial is set if there are such instances, or some whose tags are not known.
	Partial bool
}

// longestPrefix returns the longest tag with which a name begins.
func longestPrefix(name string, tags []string) string {
	longest := ""
	for _, tag := range tags {
		if strings.HasPrefix(name, tag) && len(tag) > len(longest) {
			longest = tag
		}
	}
	return longest
}
