package sim

import (
	"slices"
	"strconv"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

var instanceKind = idKind{"i", "InvalidInstanceID", "instance ID"}

// States of an instance.
const (
	statePending    = "pending"
	stateRunning    = "running"
	stateTerminated = "terminated"
	stateStopped    = "stopped"
)

// stateCodes are the low bytes of state codes.
var stateCodes = map[string]int{statePending: 0, stateRunning: 16, "shutting-down": 32, stateTerminated: 48,
	"stopping": 64, stateStopped: 80}

func instanceOperations() []operation {
	return []operation{
		read("DescribeInstances", (*tx).describeInstances),
		read("DescribeInstanceStatus", (*tx).describeInstanceStatus),
		read("DescribeInstanceTopology", (*tx).describeTopology),
		write("ModifyInstanceAttribute", (*tx).modifyInstanceAttribute),
		write("RunInstances", (*tx).runInstances),
		write("StartInstances", (*tx).startInstances),
		write("StopInstances", (*tx).stopInstances),
		write("TerminateInstances", (*tx).terminateInstances),
	}
}

// stateOf returns the current state of an instance.
func (t *tx) stateOf(i *instance) string {
	if i.state == stateRunning && t.now.Before(i.launched.Add(t.o.BootTime)) {
		return statePending
	}
	return i.state
}

type describeInstancesInput struct {
	selection
	InstanceID              []string `q:"InstanceId"`
	IncludeManagedResources bool
}

type describeInstancesOutput struct {
	Reservations query.Items[reservationView] `xml:"reservationSet"`
	NextToken    string                       `xml:"nextToken,omitempty"`
}

// describeInstances implements the operation. Pages count instances; those of one page that were started together share
// a reservation.
func (t *tx) describeInstances(in describeInstancesInput) (out describeInstancesOutput, err error) {
	if len(in.InstanceID) > 0 && in.MaxResults != nil {
		return out, refuse("InvalidParameterCombination",
			"The parameter instancesSet cannot be used with the parameter maxResults")
	}
	if err := t.checkZones(in.InstanceID); err != nil {
		return out, err
	}
	found, ids, err := selectObjects(t, instanceKind, t.instances, in.InstanceID, in.selection, instanceFields(t))
	if err != nil {
		return out, err
	}
	found, out.NextToken, err = page(found, ids, in.selection, ec2Pages)
	at := map[string]int{}
	for _, i := range found {
		if _, ok := at[i.reservation]; !ok {
			at[i.reservation] = len(out.Reservations.Item)
			out.Reservations.Item = append(out.Reservations.Item, reservationView{ID: i.reservation, Owner: t.o.Account})
		}
		r := &out.Reservations.Item[at[i.reservation]]
		r.Instances.Item = append(r.Instances.Item, t.viewInstance(i))
	}
	return out, err
}

// instanceFields returns the values of an instance's filters.
func instanceFields(t *tx) fields[*instance] {
	return func(i *instance, name string) ([]string, bool) {
		if i == nil {
			i = &instance{}
		}
		var value string
		switch name {
		case "instance-id":
			value = i.id
		case "instance-state-name":
			value = t.stateOf(i)
		case "instance-state-code":
			value = strconv.Itoa(stateCodes[t.stateOf(i)])
		case "instance-type":
			value = i.kind
		case "availability-zone":
			value = i.zone
		case "availability-zone-id":
			value = t.o.zoneID(i.zone)
		case "image-id":
			value = i.image
		case "owner-id":
			value = t.o.Account
		case "reservation-id":
			value = i.reservation
		case "launch-time":
			value = timestamp(i.launched)
		case "iam-instance-profile.arn":
			value = t.profileARN(i)
		case "source-dest-check", "network-interface.source-dest-check":
			value = strconv.FormatBool(i.checkTraffic)
		default:
			return t.interfaceFieldsOf(i, name)
		}
		return []string{value}, true
	}
}

// interfaceFieldsOf returns filters whose values come from the network interfaces; a terminated instance has none.
func (t *tx) interfaceFieldsOf(i *instance, name string) (values []string, ok bool) {
	primary := &networkInterface{}
	if n := t.primary(i); n != nil {
		primary = n
	}
	alive := func(s string) []string {
		if len(i.enis) == 0 {
			return nil
		}
		return []string{s}
	}
	switch name {
	case "vpc-id", "network-interface.vpc-id":
		return alive(i.vpc), true
	case "subnet-id", "network-interface.subnet-id":
		return alive(i.subnet), true
	case "private-dns-name", "network-interface.private-dns-name":
		return alive(i.dnsName), true
	case "dns-name":
		return alive(t.publicName(primary)), true
	case "ip-address", "network-interface.association.public-ip":
		return alive(addressText(t.publicOf(primary))), true
	case "private-ip-address":
		return alive(addressText(primary.primaryIP())), true
	}
	return t.eachInterface(i, name)
}

func (t *tx) eachInterface(i *instance, name string) (values []string, ok bool) {
	of := map[string]func(*networkInterface) []string{
		"network-interface.network-interface-id":         func(n *networkInterface) []string { return []string{n.id} },
		"network-interface.addresses.private-ip-address": func(n *networkInterface) []string { return texts(n.private) },
		"network-interface.ipv6-addresses.ipv6-address":  func(n *networkInterface) []string { return texts(n.ipv6) },
		"ipv6-address":               func(n *networkInterface) []string { return texts(n.ipv6) },
		"instance.group-id":          func(n *networkInterface) []string { return n.groups },
		"network-interface.group-id": func(n *networkInterface) []string { return n.groups },
		"instance.group-name":        t.groupNames,
	}[name]
	if of == nil {
		return nil, false
	}
	for _, n := range t.interfacesOf(i) {
		values = append(values, of(n)...)
	}
	return values, true
}

type describeInstanceStatusInput struct {
	selection
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
func (t *tx) describeInstanceStatus(in describeInstanceStatusInput) (out struct {
	Statuses  query.Items[instanceStatusView] `xml:"instanceStatusSet"`
	NextToken string                          `xml:"nextToken,omitempty"`
}, err error) {
	if len(in.InstanceID) > 0 && in.MaxResults != nil {
		return out, refuse("InvalidParameterCombination",
			"The parameter instancesSet cannot be used with the parameter maxResults")
	}
	found, ids, err := selectObjects(t, instanceKind, t.instances, in.InstanceID, in.selection, instanceFields(t))
	if err != nil {
		return out, err
	}
	var shown []instanceStatusView
	var names []string
	for n, i := range found {
		state := t.stateOf(i)
		status := "ok"
		if state != stateRunning {
			status = "not-applicable"
		}
		if state == stateRunning || in.IncludeAllInstances {
			shown = append(shown, instanceStatusView{i.id, i.zone, instanceStateOf(state), summary(status), summary(status)})
			names = append(names, ids[n])
		}
	}
	out.Statuses.Item, out.NextToken, err = page(shown, names, in.selection, ec2Pages)
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

func (t *tx) startInstances(in instanceIDs) (stateChanges, error) {
	return t.setStates(in, stateRunning)
}

func (t *tx) stopInstances(in instanceIDs) (stateChanges, error) {
	return t.setStates(in, stateStopped)
}

func (t *tx) terminateInstances(in instanceIDs) (stateChanges, error) {
	return t.setStates(in, stateTerminated)
}

// setStates changes the state of instances. The states between are skipped.
func (t *tx) setStates(in instanceIDs, to string) (out stateChanges, err error) {
	if len(in.InstanceID) == 0 {
		return out, missingParameter("InstanceId")
	}
	names, err := selectIDs(t, instanceKind, t.instances, in.InstanceID)
	if err != nil {
		return out, err
	}
	for _, id := range names {
		if s := t.instances[id].state; s == stateTerminated && to != stateTerminated {
			return out, refuse("IncorrectInstanceState",
				"The instance '%s' is not in a state from which it can be moved to '%s'.", id, to)
		}
	}
	for _, id := range names {
		i := t.instances[id]
		before := instanceStateOf(t.stateOf(i))
		t.setState(i, to)
		out.Changes.Item = append(out.Changes.Item, stateChange{id, instanceStateOf(t.stateOf(i)), before})
	}
	return out, nil
}

// setState changes an instance's state. A terminated one loses its network interfaces, and with
// them its place in target groups; its routes become blackholes.
func (t *tx) setState(i *instance, to string) {
	if to == stateRunning && i.state == stateStopped {
		i.launched = t.now
	}
	if to == stateTerminated && i.state != stateTerminated {
		i.terminated = t.now
		for _, id := range i.enis {
			delete(t.interfaces, id)
			t.removeRecords(id)
			for _, a := range t.addresses {
				if a.iface == id {
					a.iface, a.association = "", ""
				}
			}
		}
		i.enis = nil
		for _, g := range t.targetGroups {
			g.targets = slices.DeleteFunc(g.targets, func(x *target) bool { return x.id == i.id })
		}
		for _, c := range t.classics {
			c.instances = slices.DeleteFunc(c.instances, func(id string) bool { return id == i.id })
		}
	}
	i.state = to
}

func timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
