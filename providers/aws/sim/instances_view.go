package sim

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type groupRef struct {
	ID   string `xml:"groupId"`
	Name string `xml:"groupName"`
}

type instanceState struct {
	Code int    `xml:"code"`
	Name string `xml:"name"`
}

func instanceStateOf(name string) instanceState { return instanceState{stateCodes[name], name} }

type reservationView struct {
	ID        string                    `xml:"reservationId"`
	Owner     string                    `xml:"ownerId"`
	Groups    query.Items[groupRef]     `xml:"groupSet"`
	Instances query.Items[instanceView] `xml:"instancesSet"`
}

type placementView struct {
	Zone    string `xml:"availabilityZone"`
	ZoneID  string `xml:"availabilityZoneId"`
	Group   string `xml:"groupName"`
	Tenancy string `xml:"tenancy"`
}

type profileView struct {
	ARN string `xml:"arn"`
	ID  string `xml:"id"`
}

type hostnamesView struct {
	Type string `xml:"hostnameType"`
	A    bool   `xml:"enableResourceNameDnsARecord"`
	AAAA bool   `xml:"enableResourceNameDnsAAAARecord"`
}

type instanceView struct {
	ID           string                             `xml:"instanceId"`
	Image        string                             `xml:"imageId"`
	State        instanceState                      `xml:"instanceState"`
	PrivateName  string                             `xml:"privateDnsName"`
	PublicName   string                             `xml:"dnsName"`
	Reason       string                             `xml:"reason"`
	Key          string                             `xml:"keyName,omitempty"`
	LaunchIndex  int                                `xml:"amiLaunchIndex"`
	Type         string                             `xml:"instanceType"`
	Launched     string                             `xml:"launchTime"`
	Placement    placementView                      `xml:"placement"`
	Subnet       string                             `xml:"subnetId,omitempty"`
	VPC          string                             `xml:"vpcId,omitempty"`
	PrivateIP    string                             `xml:"privateIpAddress,omitempty"`
	PublicIP     string                             `xml:"ipAddress,omitempty"`
	IPv6         string                             `xml:"ipv6Address,omitempty"`
	Check        bool                               `xml:"sourceDestCheck"`
	Groups       query.Items[groupRef]              `xml:"groupSet"`
	StateReason  *stateReason                       `xml:"stateReason"`
	Devices      query.Items[deviceView]            `xml:"blockDeviceMapping"`
	Tags         query.Items[tag]                   `xml:"tagSet"`
	Interfaces   query.Items[instanceInterfaceView] `xml:"networkInterfaceSet"`
	Profile      *profileView                       `xml:"iamInstanceProfile"`
	UsageUpdated string                             `xml:"usageOperationUpdateTime"`
	Hostnames    *hostnamesView                     `xml:"privateDnsNameOptions"`
	Constant     string                             `xml:",innerxml"`
}

// constantParts is what all instances have in common.
const constantParts = `<productCodes/><monitoring><state>disabled</state></monitoring><architecture>x86_64</architecture>` +
	`<rootDeviceType>ebs</rootDeviceType><rootDeviceName>/dev/xvda</rootDeviceName><virtualizationType>hvm</virtualizationType>` +
	`<clientToken/><hypervisor>xen</hypervisor><ebsOptimized>true</ebsOptimized><enaSupport>true</enaSupport>` +
	`<metadataOptions><state>applied</state><httpTokens>required</httpTokens><httpPutResponseHopLimit>2</httpPutResponseHopLimit>` +
	`<httpEndpoint>enabled</httpEndpoint><httpProtocolIpv6>disabled</httpProtocolIpv6>` +
	`<instanceMetadataTags>disabled</instanceMetadataTags></metadataOptions>` +
	`<platformDetails>Linux/UNIX</platformDetails><usageOperation>RunInstances</usageOperation>` +
	`<cpuOptions><coreCount>1</coreCount><threadsPerCore>2</threadsPerCore></cpuOptions><capacityReservationSpecification>` +
	`<capacityReservationPreference>open</capacityReservationPreference></capacityReservationSpecification>` +
	`<hibernationOptions><configured>false</configured></hibernationOptions><enclaveOptions><enabled>false</enabled></enclaveOptions>` +
	`<maintenanceOptions><autoRecovery>default</autoRecovery></maintenanceOptions>`

type deviceView struct {
	Name     string `xml:"deviceName"`
	Volume   string `xml:"ebs>volumeId"`
	Status   string `xml:"ebs>status"`
	Attached string `xml:"ebs>attachTime"`
	Delete   bool   `xml:"ebs>deleteOnTermination"`
}

type stateText struct {
	State string `xml:"state"`
}

type stateReason struct {
	Code    string `xml:"code"`
	Message string `xml:"message"`
}

func (t *tx) viewInstance(i *instance) instanceView {
	v := instanceView{
		ID: i.id, Image: i.image, Key: i.key, State: instanceStateOf(t.stateOf(i)), Type: i.kind,
		Launched:  timestamp(i.launched),
		Placement: placementView{Zone: i.zone, ZoneID: t.o.zoneID(i.zone), Tenancy: "default"}, Check: i.checkTraffic,
		Tags: t.tagSet(i.id), UsageUpdated: timestamp(i.launched), Constant: constantParts,
	}
	if i.state == stateStopped || i.state == stateTerminated {
		v.Reason = "User initiated"
		v.StateReason = &stateReason{"Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown"}
	}
	primary := t.primary(i)
	if primary == nil {
		return v
	}
	v.Devices = query.ItemsOf([]deviceView{{"/dev/xvda", "vol-" + i.id[len("i-"):], "attached", timestamp(i.launched),
		true}})
	v.Subnet, v.VPC, v.PrivateName = i.subnet, i.vpc, i.dnsName
	v.PrivateIP = addressText(primary.primaryIP())
	v.PublicName, v.PublicIP = t.publicName(primary), addressText(t.publicOf(primary))
	v.Groups = t.groupRefs(primary.groups)
	v.Hostnames = &hostnamesView{Type: "ip-name"}
	v.Profile = &profileView{t.profileARN(i), "AIPA" + strings.ToUpper(i.id[len("i-0"):])}
	if len(primary.ipv6) > 0 {
		v.IPv6 = primary.ipv6[0].String()
	}
	for _, n := range t.interfacesOf(i) {
		w := t.viewAttached(n)
		w.Attachment.Instance, w.Attachment.Owner = "", ""
		v.Interfaces.Item = append(v.Interfaces.Item, w)
	}
	return v
}

// profileARN returns the instance profile of all nodes of the cluster.
func (t *tx) profileARN(i *instance) string {
	if i.id == "" {
		return ""
	}
	return fmt.Sprintf("arn:%s:iam::%s:instance-profile/%s", t.o.partition(), t.o.Account, i.profile)
}

func (t *tx) groupRefs(ids []string) query.Items[groupRef] {
	var out []groupRef
	for _, id := range ids {
		if g := t.groups[id]; g != nil {
			out = append(out, groupRef{id, g.name})
		}
	}
	return query.ItemsOf(out)
}

// primary returns the network interface with device index 0; nil for a terminated instance.
func (t *tx) primary(i *instance) *networkInterface {
	if len(i.enis) == 0 {
		return nil
	}
	return t.interfaces[i.enis[0]]
}

func (t *tx) interfacesOf(i *instance) []*networkInterface {
	var out []*networkInterface
	for _, id := range i.enis {
		out = append(out, t.interfaces[id])
	}
	return out
}

// publicOf returns an interface's public address: its Elastic IP, or the one it was given at launch.
// An instance that is stopped keeps only an Elastic IP.
func (t *tx) publicOf(n *networkInterface) netip.Addr {
	for _, a := range t.addresses {
		if a.iface == n.id && n.id != "" {
			return a.ip
		}
	}
	if i := t.instances[n.instance]; i != nil && i.state == stateStopped {
		return netip.Addr{}
	}
	return n.publicIP
}

func (t *tx) publicName(n *networkInterface) string {
	ip := t.publicOf(n)
	if !ip.IsValid() {
		return ""
	}
	return "ec2-" + dashed(ip) + "." + t.o.publicDomain()
}

func dashed(ip netip.Addr) string { return strings.ReplaceAll(ip.String(), ".", "-") }

// addressText returns the address as text, empty for an invalid one.
func addressText(ip netip.Addr) string {
	if !ip.IsValid() {
		return ""
	}
	return ip.String()
}

func texts(ips []netip.Addr) []string {
	out := make([]string, 0, len(ips))
	for _, ip := range ips {
		out = append(out, ip.String())
	}
	return out
}
