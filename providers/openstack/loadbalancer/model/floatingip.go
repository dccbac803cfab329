package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// FloatingIP is the public address of a load balancer.
type FloatingIP struct {
	// NetworkID is empty if it has to be looked up.
	NetworkID string
	// SubnetID wins over the pattern and the tags, all of which may be empty.
	SubnetID, SubnetPattern, SubnetTags string
	// Address is empty for any.
	Address     string
	Description string
	// Explicit names the annotations that say where it comes from, with their values; NetworkExplicit says that
	// NetworkID is one of them.
	Explicit        []string
	NetworkExplicit bool
}

// floatingIP says which public address the Service needs; nil for none. Only IPv4 has floating IPs.
// The class wins over the Service here, and the Service over the configuration.
func (b *builder) floatingIP() *FloatingIP {
	if b.internal {
		return nil
	}
	f := b.floatingPlace()
	if b.in.Families[0] != v1.IPv4Protocol {
		if len(f.Explicit) > 0 {
			b.warnAs(eventFloatingIPSkipped, "%s has no effect: the Service's first address is IPv6, for which there are no "+
				"floating IPs; the load balancer's own address is used", strings.Join(f.Explicit, ", "))
		}
		return nil
	}
	for _, text := range b.options.StaticAddresses {
		if FamilyOf(text) == v1.IPv4Protocol {
			f.Address = text
		}
	}
	if f.NetworkID == "" {
		f.NetworkID = b.shared.External
	}
	if f.NetworkID == "" && b.shared.NoExternal {
		b.warnAs(eventNoExternalNetwork, "there is no external network, so that the load balancer is internal: set %s, or "+
			"floating-network-id in section [LoadBalancer] of the configuration; or set %s to \"true\" if it is meant to be "+
			"internal",
			annotation.KeyFloatingNetworkID, annotation.KeyInternal)
		return nil
	}
	return f
}

// floatingPlace returns where the floating IP comes from, as far as it is configured.
func (b *builder) floatingPlace() *FloatingIP {
	p, c, s := b.options.Place, b.class, b.settings
	f := &FloatingIP{Description: names.FloatingIPDescription(b.key.ClusterName, b.service())}
	pick := func(key, class string, own *string, configured string) (string, bool) {
		value, explicit := first(own, configured)
		if class != "" {
			key, value, explicit = annotation.KeyClass, class, true
		}
		if text := key + " " + intent.Quote(b.in.Annotations[key]); explicit && !slices.Contains(f.Explicit, text) {
			f.Explicit = append(f.Explicit, text)
		}
		return value, explicit
	}
	f.NetworkID, f.NetworkExplicit = pick(annotation.KeyFloatingNetworkID, c.FloatingNetworkID, p.FloatingNetworkID,
		s.FloatingNetworkID)
	f.SubnetID, _ = pick(annotation.KeyFloatingSubnetID, c.FloatingSubnetID, p.FloatingSubnetID, s.FloatingSubnetID)
	f.SubnetPattern, _ = pick(annotation.KeyFloatingSubnet, c.FloatingSubnet, p.FloatingSubnet, s.FloatingSubnet)
	f.SubnetTags, _ = pick(annotation.KeyFloatingSubnetTags, c.FloatingSubnetTags, p.FloatingSubnetTags,
		s.FloatingSubnetTags)
	return f
}

// PlaceDigest is a short hash of where the Service asks its floating IP to come from, for a tag; "" where it
// names nothing.
func (f *FloatingIP) PlaceDigest() string {
	if f == nil || len(f.Explicit) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q %q %q %q", f.NetworkID, f.SubnetID, f.SubnetPattern, f.SubnetTags)))
	return hex.EncodeToString(sum[:8])
}
