package ec2

import (
	"slices"
	"strconv"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

var InstanceKind = core.IDKind{Prefix: "i", Code: "InvalidInstanceID", Noun: "instance ID"}

// States of an instance.
const (
	statePending    = "pending"
	StateRunning    = "running"
	StateTerminated = "terminated"
	StateStopped    = "stopped"
)

// stateCodes are the low bytes of state codes.
var stateCodes = map[string]int{statePending: 0, StateRunning: 16, "shutting-down": 32, StateTerminated: 48,
	"stopping": 64, StateStopped: 80}

func instanceOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("DescribeInstances", (*Tx).describeInstances),
		core.Read("DescribeInstanceStatus", (*Tx).describeInstanceStatus),
		core.Read("DescribeInstanceTopology", (*Tx).describeTopology),
		core.Write("ModifyInstanceAttribute", (*Tx).modifyInstanceAttribute),
		core.Write("RunInstances", (*Tx).runInstances),
		core.Write("StartInstances", (*Tx).startInstances),
		core.Write("StopInstances", (*Tx).stopInstances),
		core.Write("TerminateInstances", (*Tx).terminateInstances),
	}
}

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

// describeInstances implements the operation. Pages count instances; those of one page that were started together share
// a reservation.
func (t *Tx) describeInstances(in describeInstancesInput) (out describeInstancesOutput, err error) {
	if len(in.InstanceID) > 0 && in.MaxResults != nil {
		return out, core.Refuse("InvalidParameterCombination",
			"The parameter instancesSet cannot be used with the parameter maxResults")
	}
	if err := t.checkZones(in.InstanceID); err != nil {
		return out, err
	}
	found, ids, err := core.SelectObjects(t.Tx, InstanceKind, t.Instances, in.InstanceID, in.Selection, instanceFields(t))
	if err != nil {
		return out, err
	}
	found, out.NextToken, err = core.Page(found, ids, in.Selection, core.Ec2Pages)
	at := map[string]int{}
	for _, i := range found {
		if _, ok := at[i.Reservation]; !ok {
			at[i.Reservation] = len(out.Reservations.Item)
			out.Reservations.Item = append(out.Reservations.Item, reservationView{ID: i.Reservation, Owner: t.Options.Account})
		}
		r := &out.Reservations.Item[at[i.Reservation]]
		r.Instances.Item = append(r.Instances.Item, t.viewInstance(i))
	}
	return out, err
}

// instanceFields returns the values of an instance's filters.
func instanceFields(t *Tx) core.Fields[*Instance] {
	return func(i *Instance, name string) ([]string, bool) {
		if i == nil {
			i = &Instance{}
		}
		var value string
		switch name {
		case "instance-id":
			value = i.ID
		case "instance-state-name":
			value = t.StateOf(i)
		case "instance-state-code":
			value = strconv.Itoa(stateCodes[t.StateOf(i)])
		case "instance-type":
			value = i.Kind
		case "availability-zone":
			value = i.Zone
		case "availability-zone-id":
			value = t.Options.ZoneID(i.Zone)
		case "image-id":
			value = i.Image
		case "owner-id":
			value = t.Options.Account
		case "reservation-id":
			value = i.Reservation
		case "launch-time":
			value = Timestamp(i.Launched)
		case "iam-instance-profile.arn":
			value = t.ProfileARN(i)
		case "source-dest-check", "network-interface.source-dest-check":
			value = strconv.FormatBool(i.checkTraffic)
		default:
			return t.interfaceFieldsOf(i, name)
		}
		return []string{value}, true
	}
}

// interfaceFieldsOf returns filters whose values come from the network interfaces; a terminated instance has none.
func (t *Tx) interfaceFieldsOf(i *Instance, name string) (values []string, ok bool) {
	primary := &NetworkInterface{}
	if n := t.Primary(i); n != nil {
		primary = n
	}
	alive := func(s string) []string {
		if len(i.ENIs) == 0 {
			return nil
		}
		return []string{s}
	}
	switch name {
	case "vpc-id", "network-interface.vpc-id":
		return alive(i.VPC), true
	case "subnet-id", "network-interface.subnet-id":
		return alive(i.Subnet), true
	case "private-dns-name", "network-interface.private-dns-name":
		return alive(i.DNSName), true
	case "dns-name":
		return alive(t.PublicName(primary)), true
	case "ip-address", "network-interface.association.public-ip":
		return alive(AddressText(t.PublicOf(primary))), true
	case "private-ip-address":
		return alive(AddressText(primary.PrimaryIP())), true
	}
	return t.eachInterface(i, name)
}

func (t *Tx) eachInterface(i *Instance, name string) (values []string, ok bool) {
	of := map[string]func(*NetworkInterface) []string{
		"network-interface.network-interface-id":         func(n *NetworkInterface) []string { return []string{n.ID} },
		"network-interface.addresses.private-ip-address": func(n *NetworkInterface) []string { return Texts(n.Private) },
		"network-interface.ipv6-addresses.ipv6-address":  func(n *NetworkInterface) []string { return Texts(n.IPv6) },
		"ipv6-address":               func(n *NetworkInterface) []string { return Texts(n.IPv6) },
		"instance.group-id":          func(n *NetworkInterface) []string { return n.Groups },
		"network-interface.group-id": func(n *NetworkInterface) []string { return n.Groups },
		"instance.group-name":        t.GroupNames,
	}[name]
	if of == nil {
		return nil, false
	}
	for _, n := range t.InterfacesOf(i) {
		values = append(values, of(n)...)
	}
	return values, true
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
	if len(in.InstanceID) > 0 && in.MaxResults != nil {
		return out, core.Refuse("InvalidParameterCombination",
			"The parameter instancesSet cannot be used with the parameter maxResults")
	}
	found, ids, err := core.SelectObjects(t.Tx, InstanceKind, t.Instances, in.InstanceID, in.Selection, instanceFields(t))
	if err != nil {
		return out, err
	}
	var shown []instanceStatusView
	var names []string
	for n, i := range found {
		state := t.StateOf(i)
		status := "ok"
		if state != StateRunning {
			status = "not-applicable"
		}
		if state == StateRunning || in.IncludeAllInstances {
			shown = append(shown, instanceStatusView{i.ID, i.Zone, instanceStateOf(state), summary(status), summary(status)})
			names = append(names, ids[n])
		}
	}
	out.Statuses.Item, out.NextToken, err = core.Page(shown, names, in.Selection, core.Ec2Pages)
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

func (t *Tx) startInstances(in instanceIDs) (stateChanges, error) {
	return t.setStates(in, StateRunning)
}

func (t *Tx) stopInstances(in instanceIDs) (stateChanges, error) {
	return t.setStates(in, StateStopped)
}

func (t *Tx) terminateInstances(in instanceIDs) (stateChanges, error) {
	return t.setStates(in, StateTerminated)
}

// setStates changes the state of instances. The states between are skipped.
func (t *Tx) setStates(in instanceIDs, to string) (out stateChanges, err error) {
	if len(in.InstanceID) == 0 {
		return out, core.MissingParameter("InstanceId")
	}
	names, err := core.SelectIDs(t.Tx, InstanceKind, t.Instances, in.InstanceID)
	if err != nil {
		return out, err
	}
	for _, id := range names {
		if s := t.Instances[id].State; s == StateTerminated && to != StateTerminated {
			return out, core.Refuse("IncorrectInstanceState",
				"The instance '%s' is not in a state from which it can be moved to '%s'.", id, to)
		}
	}
	for _, id := range names {
		i := t.Instances[id]
		before := instanceStateOf(t.StateOf(i))
		t.SetState(i, to)
		out.Changes.Item = append(out.Changes.Item, stateChange{id, instanceStateOf(t.StateOf(i)), before})
	}
	return out, nil
}

// SetState changes an instance's state. A terminated one loses its network interfaces, and with
// them its place in target groups; its routes become blackholes.
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

func Timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// checkZones fails DescribeInstances during the disruption of a zone, unless it names instances and only those of other
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
