package ec2

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// stateCodes are the low bytes of state codes.
var stateCodes = map[string]int{statePending: 0, StateRunning: 16, "shutting-down": 32, StateTerminated: 48,
	"stopping": 64, StateStopped: 80}

// constantFields are the fields that all instances share.
const constantFields = `<productCodes/><monitoring><state>disabled</state></monitoring><architecture>x86_64</architecture>` +
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

// StateOf returns the current state of an instance.
func (t *Tx) StateOf(i *Instance) string {
	if i.State == StateRunning && t.Now.Before(i.Launched.Add(t.Options.BootTime)) {
		return statePending
	}
	return i.State
}

type describeInstancesInput struct {
	core.Selection
	InstanceID              []string `q:"InstanceId"`
	IncludeManagedResources bool
}

type describeInstancesOutput struct {
	Reservations query.Items[reservationView] `xml:"reservationSet"`
	NextToken    string                       `xml:"nextToken,omitempty"`
}

type reservationView struct {
	ID        string                    `xml:"reservationId"`
	Owner     string                    `xml:"ownerId"`
	Groups    query.Items[groupRef]     `xml:"groupSet"`
	Instances query.Items[instanceView] `xml:"instancesSet"`
}

// describeInstances implements the operation. A page counts instances, and groups them by reservation.
func (t *Tx) describeInstances(in describeInstancesInput) (out describeInstancesOutput, err error) {
	if err := t.checkZones(in.InstanceID); err != nil {
		return out, err
	}
	found, ids, err := t.selectInstances(in.InstanceID, in.Selection)
	if err != nil {
		return out, err
	}
	found, out.NextToken, err = core.Page(found, ids, in.Selection, core.PageRule{})
	index := map[string]int{}
	for _, i := range found {
		if _, ok := index[i.Reservation]; !ok {
			index[i.Reservation] = len(out.Reservations.Item)
			out.Reservations.Item = append(out.Reservations.Item, reservationView{ID: i.Reservation, Owner: t.Options.Account})
		}
		r := &out.Reservations.Item[index[i.Reservation]]
		r.Instances.Item = append(r.Instances.Item, t.viewInstance(i))
	}
	return out, err
}

// selectInstances returns the instances that match the IDs, if any are given, and all filters; sorted by ID.
func (t *Tx) selectInstances(ids []string, s core.Selection) (found []*Instance, foundIDs []string, err error) {
	if len(ids) > 0 && s.MaxResults != nil {
		return nil, nil, core.Refuse("InvalidParameterCombination",
			"The parameter instancesSet cannot be used with the parameter maxResults")
	}
	instances := core.Description[*Instance, instanceView]{Kind: InstanceKind, All: t.Instances, View: t.viewInstance}
	return instances.Select(t.Tx, ids, s)
}

type instanceView struct {
	ID           string                             `xml:"instanceId" filter:"instance-id"`
	Image        string                             `xml:"imageId" filter:"image-id"`
	State        instanceState                      `xml:"instanceState" filter:"instance-state-"`
	PrivateName  string                             `xml:"privateDnsName" filter:"private-dns-name"`
	PublicName   string                             `xml:"dnsName" filter:"dns-name"`
	Reason       string                             `xml:"reason"`
	Key          string                             `xml:"keyName,omitempty"`
	LaunchIndex  int                                `xml:"amiLaunchIndex"`
	Type         string                             `xml:"instanceType" filter:"instance-type"`
	Launched     string                             `xml:"launchTime" filter:"launch-time"`
	Placement    placementView                      `xml:"placement" filter:""`
	Subnet       string                             `xml:"subnetId,omitempty" filter:"subnet-id"`
	VPC          string                             `xml:"vpcId,omitempty" filter:"vpc-id"`
	PrivateIP    string                             `xml:"privateIpAddress,omitempty" filter:"private-ip-address"`
	PublicIP     string                             `xml:"ipAddress,omitempty" filter:"ip-address"`
	IPv6         string                             `xml:"ipv6Address,omitempty" filter:"ipv6-address"`
	Check        bool                               `xml:"sourceDestCheck" filter:"source-dest-check"`
	Groups       query.Items[groupRef]              `xml:"groupSet" filter:"instance."`
	StateReason  *stateReason                       `xml:"stateReason"`
	Devices      query.Items[deviceView]            `xml:"blockDeviceMapping"`
	Tags         query.Items[tag]                   `xml:"tagSet"`
	Interfaces   query.Items[instanceInterfaceView] `xml:"networkInterfaceSet" filter:"network-interface."`
	Profile      *profileView                       `xml:"iamInstanceProfile" filter:"iam-instance-profile."`
	UsageUpdated string                             `xml:"usageOperationUpdateTime"`
	Hostnames    *hostnamesView                     `xml:"privateDnsNameOptions"`
	Constant     string                             `xml:",innerxml"`
	// Owner and Reservation are shown with the reservation.
	Owner       string `xml:"-" filter:"owner-id"`
	Reservation string `xml:"-" filter:"reservation-id"`
}

func (t *Tx) viewInstance(i *Instance) instanceView {
	v := instanceView{
		ID: i.ID, Image: i.Image, Key: i.key, State: newInstanceState(t.StateOf(i)), Type: i.Kind,
		Placement: placementView{Zone: i.Zone, ZoneID: t.Options.ZoneID(i.Zone), Tenancy: "default"},
		Launched:  Timestamp(i.Launched), Check: i.checkTraffic,
		Tags: t.tagSet(i.ID), UsageUpdated: Timestamp(i.Launched), Constant: constantFields,
		Owner: t.Options.Account, Reservation: i.Reservation,
	}
	if i.State == StateStopped || i.State == StateTerminated {
		v.Reason = "User initiated"
		v.StateReason = &stateReason{"Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown"}
	}
	primary := t.Primary(i)
	if primary == nil {
		return v
	}
	v.Devices = query.ItemsOf([]deviceView{
		{"/dev/xvda", "vol-" + i.ID[len("i-"):], "attached", Timestamp(i.Launched), true},
	})
	v.Subnet, v.VPC, v.PrivateName = i.Subnet, i.VPC, i.DNSName
	v.PrivateIP = AddressText(primary.PrimaryIP())
	v.PublicName, v.PublicIP = t.PublicName(primary), AddressText(t.PublicOf(primary))
	v.Groups = t.groupRefs(primary.Groups)
	v.Hostnames = &hostnamesView{Type: "ip-name"}
	v.Profile = &profileView{t.ProfileARN(i), i.ProfileID()}
	if len(primary.IPv6) > 0 {
		v.IPv6 = primary.IPv6[0].String()
	}
	for _, n := range t.InterfacesOf(i) {
		attached := t.viewAttached(n)
		attached.Attachment.Instance, attached.Attachment.Owner = "", ""
		v.Interfaces.Item = append(v.Interfaces.Item, attached)
	}
	return v
}

type describeInstanceStatusInput struct {
	core.Selection
	InstanceID              []string `q:"InstanceId"`
	IncludeAllInstances     bool
	IncludeManagedResources bool
}

type statusSummary struct {
	Status  string                    `xml:"status"`
	Details query.Items[statusDetail] `xml:"details"`
}

type statusDetail struct {
	Name   string `xml:"name"`
	Status string `xml:"status"`
}

type instanceStatusView struct {
	ID       string        `xml:"instanceId"`
	Zone     string        `xml:"availabilityZone"`
	State    instanceState `xml:"instanceState"`
	System   statusSummary `xml:"systemStatus"`
	Instance statusSummary `xml:"instanceStatus"`
}

// describeInstanceStatus shows running instances, or with IncludeAllInstances all.
func (t *Tx) describeInstanceStatus(in describeInstanceStatusInput) (out struct {
	Statuses  query.Items[instanceStatusView] `xml:"instanceStatusSet"`
	NextToken string                          `xml:"nextToken,omitempty"`
}, err error) {
	found, ids, err := t.selectInstances(in.InstanceID, in.Selection)
	if err != nil {
		return out, err
	}
	var shown []instanceStatusView
	var shownIDs []string
	for n, i := range found {
		state := t.StateOf(i)
		status := "ok"
		if state != StateRunning {
			status = "not-applicable"
		}
		if state == StateRunning || in.IncludeAllInstances {
			shown = append(shown, instanceStatusView{i.ID, i.Zone, newInstanceState(state), summary(status), summary(status)})
			shownIDs = append(shownIDs, ids[n])
		}
	}
	out.Statuses.Item, out.NextToken, err = core.Page(shown, shownIDs, in.Selection, core.PageRule{})
	return out, err
}

func summary(status string) statusSummary {
	s := statusSummary{Status: status}
	if status == "ok" {
		s.Details.Item = []statusDetail{{"reachability", "passed"}}
	}
	return s
}

type instanceIDs struct {
	InstanceID []string `q:"InstanceId"`
	Force      bool
	Hibernate  bool
}

type stateChange struct {
	ID       string        `xml:"instanceId"`
	Current  instanceState `xml:"currentState"`
	Previous instanceState `xml:"previousState"`
}

type stateChanges struct {
	Changes query.Items[stateChange] `xml:"instancesSet"`
}

// setStates returns the operation that changes the state of instances. It skips the intermediate states.
func setStates(to string) func(*Tx, instanceIDs) (stateChanges, error) {
	return func(t *Tx, in instanceIDs) (stateChanges, error) { return t.setStates(in, to) }
}

func (t *Tx) setStates(in instanceIDs, to string) (out stateChanges, err error) {
	if len(in.InstanceID) == 0 {
		return out, core.MissingParameter("InstanceId")
	}
	ids, err := core.SelectIDs(t.Tx, InstanceKind, t.Instances, in.InstanceID)
	if err != nil {
		return out, err
	}
	for _, id := range ids {
		if s := t.Instances[id].State; s == StateTerminated && to != StateTerminated {
			return out, core.Refuse("IncorrectInstanceState",
				"The instance '%s' is not in a state from which it can be moved to '%s'.", id, to)
		}
	}
	for _, id := range ids {
		i := t.Instances[id]
		before := newInstanceState(t.StateOf(i))
		t.SetState(i, to)
		out.Changes.Item = append(out.Changes.Item, stateChange{id, newInstanceState(t.StateOf(i)), before})
	}
	return out, nil
}

func newInstanceState(name string) instanceState { return instanceState{stateCodes[name], name} }

// SetState changes an instance's state. Termination deletes its network interfaces and deregisters it from load
// balancers; routes to it become blackholes.
func (t *Tx) SetState(i *Instance, to string) {
	if to == StateRunning && i.State == StateStopped {
		i.Launched = t.Now
	}
	if to == StateTerminated && i.State != StateTerminated {
		i.terminated = t.Now
		for _, id := range i.ENIs {
			delete(t.Interfaces, id)
			t.RemoveRecords(id)
			for _, a := range t.Addresses {
				if a.Iface == id {
					a.Iface, a.Association = "", ""
				}
			}
		}
		i.ENIs = nil
		t.OnTerminate(i.ID)
	}
	i.State = to
}

// checkZones fails DescribeInstances during the disruption of a zone, unless the request names only instances of other
// zones. The API reference documents this in DescribeInstances.
func (t *Tx) checkZones(ids []string) error {
	for _, zone := range t.DisruptedZones {
		if len(ids) == 0 || slices.ContainsFunc(ids, func(id string) bool {
			i := t.Instances[id]
			return i != nil && i.Zone == zone
		}) {
			return core.Refuse("Unavailable", "The Availability Zone '%s' is disrupted.", zone)
		}
	}
	return nil
}
