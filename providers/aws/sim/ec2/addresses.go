package ec2

import (
	"net/netip"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type addressView struct {
	IP          string           `xml:"publicIp" filter:"public-ip"`
	Allocation  string           `xml:"allocationId" filter:"allocation-id"`
	Domain      string           `xml:"domain" filter:"domain"`
	Instance    string           `xml:"instanceId,omitempty" filter:"instance-id"`
	Association string           `xml:"associationId,omitempty" filter:"association-id"`
	ENI         string           `xml:"networkInterfaceId,omitempty" filter:"network-interface-id"`
	Owner       string           `xml:"networkInterfaceOwnerId,omitempty" filter:"network-interface-owner-id"`
	Private     string           `xml:"privateIpAddress,omitempty" filter:"private-ip-address"`
	Tags        query.Items[tag] `xml:"tagSet"`
	Pool        string           `xml:"publicIpv4Pool"`
	Border      string           `xml:"networkBorderGroup" filter:"network-border-group"`
}

func (t *Tx) describeAddresses(in struct {
	Filter       []core.Filter
	AllocationID []string `q:"AllocationId"`
	PublicIP     []string `q:"PublicIp"`
}) (out struct {
	Addresses query.Items[addressView] `xml:"addressesSet"`
}, err error) {
	ids := in.AllocationID
	for _, text := range in.PublicIP {
		a, err := t.addressByIP(text)
		if err != nil {
			return out, err
		}
		ids = append(ids, a.ID)
	}
	addresses := core.Description[*elasticIP, addressView]{Kind: addressKind, All: t.Addresses, View: t.viewAddress}
	out.Addresses, _, err = addresses.Page(t.Tx, ids, core.Selection{Filter: in.Filter})
	return out, err
}

func (t *Tx) viewAddress(a *elasticIP) addressView {
	v := addressView{
		IP: AddressText(a.IP), Allocation: a.ID, Domain: "vpc", Association: a.Association, Pool: "amazon",
		Border: t.Options.Region, Tags: t.tagSet(a.ID),
	}
	if n := t.Interfaces[a.Iface]; n != nil {
		v.ENI, v.Instance, v.Owner, v.Private = n.ID, n.Instance, t.Options.Account, AddressText(n.PrimaryIP())
	}
	return v
}

func (t *Tx) addressByIP(text string) (*elasticIP, error) {
	for _, a := range t.Addresses {
		if a.IP.String() == text {
			return a, nil
		}
	}
	return nil, core.Refuse("InvalidAddress.NotFound", "Address '%s' not found.", text)
}

func (t *Tx) allocateAddress(in struct {
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
	tags, err := parseTags("elastic-ip", in.TagSpecification)
	if err != nil {
		return out, err
	}
	id, err := t.AllocateElasticIP()
	if err != nil {
		return out, err
	}
	a := t.Addresses[id]
	t.SetTags(a.ID, tags)
	t.HideNew(a.ID)
	out.IP, out.Domain, out.Allocation, out.Pool, out.Border = a.IP.String(), "vpc", a.ID, "amazon", t.Options.Region
	return out, nil
}

// AllocateElasticIP allocates an address and returns its ID.
func (t *Tx) AllocateElasticIP() (id string, err error) {
	if len(t.Addresses) >= t.Options.Quotas[core.QuotaAddresses] {
		return "", core.Refuse("AddressLimitExceeded", "The maximum number of addresses has been reached.")
	}
	a := &elasticIP{ID: t.NewID("eipalloc"), IP: t.publicAddress()}
	t.Addresses[a.ID] = a
	return a.ID, nil
}

// publicPool is the range of public addresses: 198.18.0.0/15, which is reserved for tests between networks
// (RFC 2544).
var publicPool = netip.MustParsePrefix("198.18.0.0/15")

func (t *Tx) publicAddress() netip.Addr {
	t.allocated["public"]++
	return hostOf(publicPool, t.allocated["public"]%(1<<(32-publicPool.Bits())))
}

func (t *Tx) releaseAddress(in struct {
	AllocationID       string `q:"AllocationId"`
	PublicIP           string `q:"PublicIp"`
	NetworkBorderGroup string
}) (core.Done, error) {
	if in.AllocationID == "" {
		a, err := t.addressByIP(in.PublicIP)
		if err != nil {
			return core.Done{}, err
		}
		in.AllocationID = a.ID
	}
	a, err := core.Find(addressKind, t.Addresses, in.AllocationID)
	if err != nil {
		return core.Done{}, err
	}
	if a.Iface != "" {
		return core.Done{}, core.Refuse("InvalidIPAddress.InUse", "Address %s is in use.", a.IP)
	}
	delete(t.Addresses, a.ID)
	t.RemoveRecords(a.ID)
	return core.Done{Return: true}, nil
}
