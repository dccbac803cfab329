package annotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// Options combine a Service's OpenStack annotations and the portable ones. A nil pointer means that the
// configuration decides. A pointer to an empty text overrides the configuration with "none".
type Options struct {
	// Internal load balancers have no floating IP.
	Internal *bool
	// LoadBalancerID is a load balancer to use, the Service's own or a shared one.
	LoadBalancerID string
	// Guests are the Services of other namespaces that may share the load balancer: a sorted list with commas; nil if the
	// Service does not set it.
	Guests *string
	// Class is the name of a section of the configuration.
	Class string
	Place Place
	// AnyFloatingNetwork is set if the Service ignores the configured network of floating IPs.
	AnyFloatingNetwork bool
	// PortID is a Neutron port to use for the address.
	PortID string
	// KeepFloatingIP keeps the floating IP when the Service is deleted.
	KeepFloatingIP bool
	// Hostname replaces addresses in the status.
	Hostname string
	// FlavorID and AvailabilityZone are Octavia's.
	FlavorID, AvailabilityZone *string

	// Method is Octavia's name of a load balancing algorithm.
	Method *string
	// ProxyProtocol is 0, 1 or 2.
	ProxyProtocol int
	XForwardedFor bool
	// ConnectionLimit is -1 for none.
	ConnectionLimit *int
	Timeouts        Timeouts
	// TLSContainer is the reference to a certificate in Barbican; empty for no TLS.
	TLSContainer *string

	Monitor Monitor
	// NodeLabels are required of nodes that receive traffic: every key, with the value unless that is empty.
	NodeLabels map[string]string
	// HasNodeLabels reports whether the Service sets NodeLabels.
	HasNodeLabels bool

	// Tags for one kind of object each. Those of the portable annotation are in all three.
	LoadBalancerTags, ListenerTags, PoolTags []string

	// StaticAddresses are the address of an internal load balancer's VIP or of a floating IP.
	StaticAddresses []string

	// Sources are the fields and annotations that set these options. Problems about options use them.
	Sources intent.Sources
}

// NewProblems returns an empty list for problems with these options.
func (o Options) NewProblems() intent.Problems { return intent.Problems{Sources: o.Sources.Clone()} }

// Place selects the networks and subnets of addresses. FloatingSubnet is a pattern and FloatingSubnetTags an
// expression; all others are IDs. Empty fields are unset.
type Place struct {
	FloatingNetworkID, FloatingSubnetID, FloatingSubnet, FloatingSubnetTags string
	SubnetID, NetworkID, MemberSubnetID                                     string
}

// ChoosesFloatingSubnet reports whether the place sets the subnet of floating IPs. ID, pattern and tags are one
// setting: they come from one place together.
func (p Place) ChoosesFloatingSubnet() bool {
	return p.FloatingSubnetID != "" || p.FloatingSubnet != "" || p.FloatingSubnetTags != ""
}

// Timeouts in milliseconds; nil for the default.
type Timeouts struct{ Client, Connect, Member, Inspect *int }

// Monitor are the settings of health monitors. Nil pointers and zeros mean the default.
type Monitor struct {
	Enabled *bool
	// Protocol, Port and Path come from the portable annotations.
	Protocol       string
	Port           int32
	Path           string
	Delay, Timeout *time.Duration
	Retries, Down  *int
}

// ParseNodeLabels parses key=value,key: a key alone requires that the label exists. A value that no label can have is
// an error, because no node would be selected.
func ParseNodeLabels(text string) (map[string]string, error) {
	selected := map[string]string{}
	for item := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "" {
			continue
		}
		if len(validation.IsValidLabelValue(value)) > 0 {
			return nil, fmt.Errorf("no node can have the label %s with the value %s: write a list such as pool=edge,zone",
				intent.Quote(key), intent.Quote(value))
		}
		selected[key] = value
	}
	return selected, nil
}

// ShowNodeLabels is the inverse of ParseNodeLabels.
func ShowNodeLabels(labels map[string]string) string {
	var items []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		item := key
		if labels[key] != "" {
			item += "=" + labels[key]
		}
		items = append(items, item)
	}
	return strings.Join(items, ",")
}

// setNodeSelector also accepts an empty value: every node receives traffic.
func (o *Options) setNodeSelector(value string) (err error) {
	o.NodeLabels, err = ParseNodeLabels(value)
	o.HasNodeLabels = err == nil
	return err
}

// setFloatingNetwork also accepts an empty value: the configured network is ignored.
func (o *Options) setFloatingNetwork(value string) (err error) {
	o.Place.FloatingNetworkID, err = parseID(value)
	o.AnyFloatingNetwork = value == ""
	return err
}
