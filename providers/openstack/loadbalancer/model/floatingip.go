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
// The class wins over the Service here, and the Service over the configuration.
func (b *builder) floatingIP() *FloatingIP {
	if b.internal {
		return nil
	}
	f := b.floatingPlace()
	for _, text := range b.options.StaticAddresses {
		if FamilyOf(text) == v1.IPv4Protocol {
			f.Address = text
		}
	}
	if f.NetworkID == "" {
		f.NetworkID = b.shared.External
	}
	if f.NetworkID == "" && b.shared.NoExternal {
		if b.in.Families[0] != v1.IPv4Protocol {
			return nil
		}
		b.warnAs(events.LoadBalancerExternalNetworkSearchFailed, "there is no external network, so that the load balancer "+
			"gets no floating IP: set "+
			"%s, or floating-network-id in section [LoadBalancer] of the configuration; or set %s to \"true\" if it is meant "+
			"to be internal", annotation.KeyFloatingNetworkID, annotation.KeyInternal)
		return nil
	}
	return f
}

// floatingPlace returns where the floating IP comes from, as far as it is configured.
func (b *builder) floatingPlace() *FloatingIP {
	p, c, s := b.options.Place, b.class, b.settings
	f := &FloatingIP{Description: names.FloatingIPDescription(b.key.ClusterName, b.service())}
	explicit := func(key string) {
		if text := key + " " + intent.Quote(b.in.Annotations[key]); !slices.Contains(f.Explicit, text) {
			f.Explicit = append(f.Explicit, text)
		}
	}
	f.NetworkID, f.NetworkExplicit = cmp.Or(p.FloatingNetworkID, s.FloatingNetworkID), p.FloatingNetworkID != ""
	if b.options.AnyFloatingNetwork {
		f.NetworkID = ""
	}
	switch {
	case c.FloatingNetworkID != "":
		f.NetworkID, f.NetworkExplicit = c.FloatingNetworkID, true
		explicit(annotation.KeyClass)
	case f.NetworkExplicit:
		explicit(annotation.KeyFloatingNetworkID)
	}
	from := s.Place
	switch {
	case c.ChoosesFloatingSubnet():
		from = c
		explicit(annotation.KeyClass)
	case p.ChoosesFloatingSubnet():
		from = p
		for _, key := range []string{annotation.KeyFloatingSubnetID, annotation.KeyFloatingSubnet,
			annotation.KeyFloatingSubnetTags} {
			if strings.TrimSpace(b.in.Annotations[key]) != "" {
				explicit(key)
			}
		}
	}
	f.SubnetID, f.SubnetPattern, f.SubnetTags = from.FloatingSubnetID, from.FloatingSubnet, from.FloatingSubnetTags
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
