package ec2

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type groupRef struct {
	ID   string `xml:"groupId" filter:"group-id"`
	Name string `xml:"groupName" filter:"group-name"`
}

type instanceState struct {
	Code int    `xml:"code" filter:"code"`
	Name string `xml:"name" filter:"name"`
}

type placementView struct {
	Zone    string `xml:"availabilityZone" filter:"availability-zone"`
	ZoneID  string `xml:"availabilityZoneId" filter:"availability-zone-id"`
	Group   string `xml:"groupName"`
	Tenancy string `xml:"tenancy"`
}

type profileView struct {
	ARN string `xml:"arn" filter:"arn"`
	ID  string `xml:"id"`
}

type hostnamesView struct {
	Type string `xml:"hostnameType"`
	A    bool   `xml:"enableResourceNameDnsARecord"`
	AAAA bool   `xml:"enableResourceNameDnsAAAARecord"`
}

type deviceView struct {
	Name     string `xml:"deviceName"`
	Volume   string `xml:"ebs>volumeId"`
	Status   string `xml:"ebs>status"`
	Attached string `xml:"ebs>attachTime"`
	Delete   bool   `xml:"ebs>deleteOnTermination"`
}

type stateReason struct {
	Code    string `xml:"code"`
	Message string `xml:"message"`
}

// ProfileARN returns the ARN of an instance's profile.
func (t *Tx) ProfileARN(i *Instance) string {
	return fmt.Sprintf("arn:%s:iam::%s:instance-profile/%s", t.Options.Partition(), t.Options.Account, i.Profile)
}

// ProfileID returns the ID of the instance's profile.
func (i *Instance) ProfileID() string { return "AIPA" + strings.ToUpper(i.ID[len("i-0"):]) }

func (t *Tx) groupRefs(ids []string) query.Items[groupRef] {
	var out []groupRef
	for _, id := range ids {
		if g := t.Groups[id]; g != nil {
			out = append(out, groupRef{id, g.Name})
		}
	}
	return query.ItemsOf(out)
}

// Primary returns the network interface with device index 0; nil for a terminated instance.
func (t *Tx) Primary(i *Instance) *NetworkInterface {
	if len(i.ENIs) == 0 {
		return nil
	}
	return t.Interfaces[i.ENIs[0]]
}

// InterfacesOf returns the network interfaces of an instance by device index.
func (t *Tx) InterfacesOf(i *Instance) []*NetworkInterface {
	var out []*NetworkInterface
	for _, id := range i.ENIs {
		out = append(out, t.Interfaces[id])
	}
	return out
}

// PublicOf returns an interface's public address: its Elastic IP, or the one assigned at launch. A stopped
// instance keeps only an Elastic IP.
func (t *Tx) PublicOf(n *NetworkInterface) netip.Addr {
	for _, a := range t.Addresses {
		if a.Iface == n.ID && n.ID != "" {
			return a.IP
		}
	}
	if i := t.Instances[n.Instance]; i != nil && i.State == StateStopped {
		return netip.Addr{}
	}
	return n.publicIP
}

// PublicName returns the DNS name of an interface's public address, empty without one.
func (t *Tx) PublicName(n *NetworkInterface) string {
	ip := t.PublicOf(n)
	if !ip.IsValid() {
		return ""
	}
	return "ec2-" + dashed(ip) + "." + t.Options.PublicDomain()
}

func dashed(ip netip.Addr) string { return strings.ReplaceAll(ip.String(), ".", "-") }

// AddressText returns the address as text, empty for an invalid one.
func AddressText(ip netip.Addr) string {
	if !ip.IsValid() {
		return ""
	}
	return ip.String()
}

// Texts returns addresses as text.
func Texts(ips []netip.Addr) []string {
	out := make([]string, 0, len(ips))
	for _, ip := range ips {
		out = append(out, ip.String())
	}
	return out
}

// Timestamp formats a time as EC2 and Elastic Load Balancing do.
func Timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
