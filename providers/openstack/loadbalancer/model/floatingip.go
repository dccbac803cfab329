package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// floatingIP returns the public address of the Service if its load balancer has an IPv4 address; nil for none.
// The class overrides the Service here, and the Service the configuration.
func (b *builder) floatingIP() *FloatingIP {
	if b.internal {
		return nil
	}
	f := b.floatingPlace()
	for _, address := range b.options.StaticAddresses {
		if FamilyOf(address) == v1.IPv4Protocol {
			f.Address = address
		}
	}
	if f.NetworkID == "" {
		f.NetworkID = b.shared.External
	}
	if f.NetworkID == "" && b.shared.NoExternal {
		if b.in.Families[0] != v1.IPv4Protocol {
			return nil
		}
		b.warnWithReason(events.LoadBalancerExternalNetworkSearchFailed, "there is no external network, so that the load "+
			"balancer gets no floating IP: set %s, or floating-network-id in section [LoadBalancer] of the configuration; or "+
			"set %s to \"true\" if it is meant to be internal", annotation.KeyFloatingNetworkID, annotation.KeyInternal)
		return nil
	}
	return f
}

// floatingPlace returns a floating IP with its source, as far as that is configured.
func (b *builder) floatingPlace() *FloatingIP {
	place, class, settings := b.options.Place, b.class, b.settings
	f := &FloatingIP{Description: names.FloatingIPDescription(b.key.ClusterName, b.service())}
	addExplicit := func(key string) {
		if text := key + " " + intent.Quote(b.in.Annotations[key]); !slices.Contains(f.Explicit, text) {
			f.Explicit = append(f.Explicit, text)
		}
	}
	f.NetworkID, f.NetworkExplicit = cmp.Or(place.FloatingNetworkID, settings.FloatingNetworkID),
		place.FloatingNetworkID != ""
	if b.options.AnyFloatingNetwork {
		f.NetworkID = ""
	}
	switch {
	case class.FloatingNetworkID != "":
		f.NetworkID, f.NetworkExplicit = class.FloatingNetworkID, true
		addExplicit(annotation.KeyClass)
	case f.NetworkExplicit:
		addExplicit(annotation.KeyFloatingNetworkID)
	}
	source := settings.Place
	switch {
	case class.ChoosesFloatingSubnet():
		source = class
		addExplicit(annotation.KeyClass)
	case place.ChoosesFloatingSubnet():
		source = place
		for _, key := range []string{annotation.KeyFloatingSubnetID, annotation.KeyFloatingSubnet,
			annotation.KeyFloatingSubnetTags} {
			if strings.TrimSpace(b.in.Annotations[key]) != "" {
				addExplicit(key)
			}
		}
	}
	f.SubnetID, f.SubnetPattern, f.SubnetTags = source.FloatingSubnetID, source.FloatingSubnet, source.FloatingSubnetTags
	return f
}

// PlaceDigest returns a short hash of the source that the Service requests for its floating IP, for a tag; "" if it
// requests none.
func (f *FloatingIP) PlaceDigest() string {
	if f == nil || len(f.Explicit) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q %q %q %q", f.NetworkID, f.SubnetID, f.SubnetPattern, f.SubnetTags)))
	return hex.EncodeToString(sum[:8])
}
