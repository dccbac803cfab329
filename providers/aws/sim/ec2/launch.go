package ec2

import (
	"cmp"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type runInput struct {
	ImageID          string `q:"ImageId"`
	InstanceType     string
	MinCount         int32
	MaxCount         int32
	ClientToken      string
	SubnetID         string   `q:"SubnetId"`
	SecurityGroupID  []string `q:"SecurityGroupId"`
	TagSpecification []tagSpecification
	Placement        *struct{ AvailabilityZone string }
	NetworkInterface []struct {
		DeviceIndex              int32
		SubnetID                 string   `q:"SubnetId"`
		SecurityGroupID          []string `q:"SecurityGroupId"`
		AssociatePublicIPAddress *bool    `q:"AssociatePublicIpAddress"`
		Description              string
		DeleteOnTermination      *bool
		PrimaryIPv6              *bool `q:"PrimaryIpv6"`
	}
	EnablePrimaryIPv6 *bool `q:"EnablePrimaryIpv6"`
	KeyName           string
	// The following parameters are accepted and ignored.
	UserData           string
	EbsOptimized       *bool
	IamInstanceProfile *struct {
		Arn  string
		Name string
	}
}

// maxRun bounds the instances of one request; AWS bounds them by quotas of virtual processors.
const maxRun = 5000

// runInstances starts instances in one subnet. Its instances are the cluster's only if they are tagged so.
func (t *Tx) runInstances(in runInput) (out reservationView, err error) {
	if old := t.launches[in.ClientToken]; old != "" && in.ClientToken != "" {
		return t.viewReservation(old), nil
	}
	s, o, err := t.checkRun(in)
	if err != nil {
		return out, err
	}
	tags, err := tagsFor("instance", in.TagSpecification)
	if err != nil {
		return out, err
	}
	if free := t.freeAddresses(s); free < int(in.MinCount) {
		return out, core.Refuse("InsufficientFreeAddressesInSubnet",
			"There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", s.ID)
	}
	o.reservation = t.NewID("r")
	for range min(int(in.MaxCount), t.freeAddresses(s)) {
		i, err := t.boot(s, o)
		if err != nil {
			return out, err
		}
		i.key = in.KeyName
		t.SetTags(i.ID, tags)
		t.HideNew(i.ID)
	}
	if in.ClientToken != "" {
		t.launches[in.ClientToken] = o.reservation
	}
	return t.viewReservation(o.reservation), nil
}

// checkRun validates a request and returns the subnet and the options of the instances.
func (t *Tx) checkRun(in runInput) (*Subnet, bootOptions, error) {
	o := bootOptions{kind: in.InstanceType, image: in.ImageID, groups: in.SecurityGroupID,
		PrimaryIPv6: in.EnablePrimaryIPv6 != nil && *in.EnablePrimaryIPv6}
	switch {
	case in.ImageID == "":
		return nil, o, core.MissingParameter("ImageId")
	case in.MinCount < 1 || in.MaxCount < in.MinCount || in.MaxCount > maxRun:
		return nil, o, core.InvalidValue(
			"Value (%d) for parameter minCount or (%d) for maxCount is invalid. Both are between "+
				"1 and %d, in this order.", in.MinCount, in.MaxCount, maxRun)
	case len(in.NetworkInterface) > 1:
		return nil, o, core.InvalidValue("The simulated region starts instances with one network interface.")
	}
	id, err := t.subnetOf(in, &o)
	if err != nil {
		return nil, o, err
	}
	s, err := core.Find(subnetKind, t.Subnets, id)
	if err != nil {
		return nil, o, err
	}
	o.public = o.public || s.MapPublic
	if len(o.groups) == 0 {
		if g := t.GroupByName("default", s.VPC); g != nil {
			o.groups = []string{g.ID}
		}
	}
	return s, o, t.checkInterfaceGroups(o.groups, s.VPC)
}

// subnetOf returns the subnet of a request, or one of the zone. It copies settings of the network interface
// to o.
func (t *Tx) subnetOf(in runInput, o *bootOptions) (subnetID string, err error) {
	id := in.SubnetID
	if len(in.NetworkInterface) == 1 {
		n := in.NetworkInterface[0]
		if id != "" || len(o.groups) > 0 {
			return "", core.Refuse("InvalidParameterCombination",
				"Network interfaces and an instance-level subnet ID or security groups may not be specified on the same request")
		}
		id, o.groups = n.SubnetID, n.SecurityGroupID
		o.public = n.AssociatePublicIPAddress != nil && *n.AssociatePublicIPAddress
		o.PrimaryIPv6 = o.PrimaryIPv6 || n.PrimaryIPv6 != nil && *n.PrimaryIPv6
	}
	if id != "" {
		return id, nil
	}
	zone := t.Options.Zones[0]
	if in.Placement != nil {
		zone = cmp.Or(in.Placement.AvailabilityZone, zone)
	}
	s, err := t.SubnetFor(zone)
	if err != nil {
		return "", core.InvalidValue("Invalid availability zone: [%s]", zone)
	}
	return s.ID, nil
}

// viewReservation responds to a launch request with the instances, in the order of their launch.
func (t *Tx) viewReservation(id string) reservationView {
	var members []*Instance
	for _, i := range t.Instances {
		if i.Reservation == id {
			members = append(members, i)
		}
	}
	slices.SortFunc(members, func(a, b *Instance) int { return a.Order - b.Order })
	out := reservationView{ID: id, Owner: t.Options.Account, Instances: query.Items[instanceView]{}}
	for n, i := range members {
		v := t.viewInstance(i)
		// The response shows instances as pending, even if they are running.
		v.LaunchIndex, v.State, v.StateReason = n, instanceStateOf(statePending), &stateReason{statePending, statePending}
		out.Instances.Item = append(out.Instances.Item, v)
	}
	return out
}
