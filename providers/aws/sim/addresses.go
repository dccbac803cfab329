package sim

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

var addressKind = idKind{"eipalloc", "InvalidAllocationID", "allocation ID"}

func addressOperations() []operation {
	return []operation{
		read("DescribeAddresses", (*tx).describeAddresses),
		write("AllocateAddress", (*tx).allocateAddress),
		write("ReleaseAddress", (*tx).releaseAddress),
	}
}

type addressView struct {
	IP          string           `xml:"publicIp"`
	Allocation  string           `xml:"allocationId"`
	Domain      string           `xml:"domain"`
	Instance    string           `xml:"instanceId,omitempty"`
	Association string           `xml:"associationId,omitempty"`
	ENI         string           `xml:"networkInterfaceId,omitempty"`
	Owner       string           `xml:"networkInterfaceOwnerId,omitempty"`
	Private     string           `xml:"privateIpAddress,omitempty"`
	Tags        query.Items[tag] `xml:"tagSet"`
	Pool        string           `xml:"publicIpv4Pool"`
	Border      string           `xml:"networkBorderGroup"`
}

func (t *tx) describeAddresses(in struct {
	Filter       []filter
	AllocationID []string `q:"AllocationId"`
	PublicIP     []string `q:"PublicIp"`
}) (out struct {
	Addresses query.Items[addressView] `xml:"addressesSet"`
}, err error) {
	ids := in.AllocationID
	for _, text := range in.PublicIP {
		a := t.addressByIP(text)
		if a == nil {
			return out, refuse("InvalidAddress.NotFound", "Address '%s' not found.", text)
		}
		ids = append(ids, a.id)
	}
	values := func(a *elasticIP, name string) ([]string, bool) {
		if a == nil {
			a = &elasticIP{}
		}
		v := t.viewAddress(a)
		return oneOf(name, map[string]string{
			"allocation-id": v.Allocation, "association-id": v.Association, "domain": v.Domain, "instance-id": v.Instance,
			"network-interface-id": v.ENI, "network-interface-owner-id": v.Owner, "private-ip-address": v.Private,
			"public-ip": v.IP, "network-border-group": v.Border,
		})
	}
	found, _, err := selectObjects(t, addressKind, t.addresses, ids, selection{Filter: in.Filter}, values)
	for _, a := range found {
		out.Addresses.Item = append(out.Addresses.Item, t.viewAddress(a))
	}
	return out, err
}

func (t *tx) viewAddress(a *elasticIP) addressView {
	v := addressView{
		IP: addressText(a.ip), Allocation: a.id, Domain: "vpc", Association: a.association, Pool: "amazon",
		Border: t.o.Region, Tags: t.tagSet(a.id),
	}
	if n := t.interfaces[a.iface]; n != nil {
		v.ENI, v.Instance, v.Owner, v.Private = n.id, n.instance, t.o.Account, addressText(n.primaryIP())
	}
	return v
}

func (t *tx) addressByIP(text string) *elasticIP {
	for _, id := range slices.Sorted(maps.Keys(t.addresses)) {
		if t.addresses[id].ip.String() == text {
			return t.addresses[id]
		}
	}
	return nil
}

func (t *tx) allocateAddress(in struct {
	Domain             string
	Address            string
	PublicIPv4Pool     string `q:"PublicIpv4Pool"`
	NetworkBorderGroup string
	TagSpecification   []tagSpecification
}) (out struct {
	IP         string `xml:"publicIp"`
	Domain     string `xml:"domain"`
	Allocation string `xml:"allocationId"`
	Pool       string `xml:"publicIpv4Pool"`
	Border     string `xml:"networkBorderGroup"`
}, err error) {
	tags, err := tagsFor("elastic-ip", in.TagSpecification)
	if err != nil {
		return out, err
	}
	if len(t.addresses) >= t.o.Quotas[QuotaAddresses] {
		return out, refuse("AddressLimitExceeded", "The maximum number of addresses has been reached.")
	}
	a := &elasticIP{id: t.newID("eipalloc"), ip: t.publicAddress()}
	t.addresses[a.id] = a
	t.setTags(a.id, tags)
	t.hideNew(a.id)
	out.IP, out.Domain, out.Allocation, out.Pool, out.Border = a.ip.String(), "vpc", a.id, "amazon", t.o.Region
	return out, nil
}

// publicPool is where public addresses come from: 198.18.0.0/15, which is reserved for tests between networks (RFC
// 2544).
var publicPool = netip.MustParsePrefix("198.18.0.0/15")

func (t *tx) publicAddress() netip.Addr {
	t.allocated["public"]++
	return hostOf(publicPool, t.allocated["public"]%(1<<17))
}

func (t *tx) releaseAddress(in struct {
	AllocationID       string `q:"AllocationId"`
	PublicIP           string `q:"PublicIp"`
	NetworkBorderGroup string
}) (done, error) {
	if in.AllocationID == "" {
		a := t.addressByIP(in.PublicIP)
		if a == nil {
			return done{}, refuse("InvalidAddress.NotFound", "Address '%s' not found.", in.PublicIP)
		}
		in.AllocationID = a.id
	}
	a, err := find(addressKind, t.addresses, in.AllocationID)
	if err != nil {
		return done{}, err
	}
	if a.iface != "" {
		return done{}, refuse("InvalidIPAddress.InUse", "Address %s is in use.", a.ip)
	}
	delete(t.addresses, a.id)
	t.removeRecords(a.id)
	return done{true}, nil
}
