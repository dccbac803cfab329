package ec2

import (
	"cmp"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type launchInput struct {
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

// maxLaunched bounds the instances of one request. AWS bounds them by quotas of vCPUs.
const maxLaunched = 5000

// runInstances starts instances in one subnet. They belong to the cluster only if the request tags them so.
func (t *Tx) runInstances(in launchInput) (out reservationView, err error) {
	if reservation := t.launches[in.ClientToken]; reservation != "" {
		return t.viewReservation(reservation), nil
	}
	s, o, err := t.checkLaunch(in)
	if err != nil {
		return out, err
	}
	tags, err := parseTags("instance", in.TagSpecification)
	if err != nil {
		return out, err
	}
	free := t.freeAddresses(s)
	if free < int(in.MinCount) {
		return out, errSubnetFull(s)
	}
	o.reservation = t.NewID("r")
	for range min(int(in.MaxCount), free) {
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

// checkLaunch validates a request and returns the subnet and the options of the instances.
func (t *Tx) checkLaunch(in launchInput) (*Subnet, bootOptions, error) {
	o := bootOptions{kind: in.InstanceType, image: in.ImageID, groups: in.SecurityGroupID,
		primaryIPv6: in.EnablePrimaryIPv6 != nil && *in.EnablePrimaryIPv6}
	switch {
	case in.ImageID == "":
		return nil, o, core.MissingParameter("ImageId")
	case in.MinCount < 1 || in.MaxCount < in.MinCount || in.MaxCount > maxLaunched:
		return nil, o, core.InvalidValue(
			"Value (%d) for parameter minCount or (%d) for maxCount is invalid. Both are between "+
				"1 and %d, in this order.", in.MinCount, in.MaxCount, maxLaunched)
	case len(in.NetworkInterface) > 1:
		return nil, o, core.InvalidValue("The simulated region starts instances with one network interface.")
	}
	id, err := t.resolveSubnet(in, &o)
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

// resolveSubnet returns the subnet of a request, or one of the zone. It copies the settings of the network interface to
// o.
func (t *Tx) resolveSubnet(in launchInput, o *bootOptions) (subnetID string, err error) {
	id := in.SubnetID
	if len(in.NetworkInterface) == 1 {
		n := in.NetworkInterface[0]
		if id != "" || len(o.groups) > 0 {
			return "", core.Refuse("InvalidParameterCombination",
				"Network interfaces and an instance-level subnet ID or security groups may not be specified on the same request")
		}
		id, o.groups = n.SubnetID, n.SecurityGroupID
		o.public = n.AssociatePublicIPAddress != nil && *n.AssociatePublicIPAddress
		o.primaryIPv6 = o.primaryIPv6 || n.PrimaryIPv6 != nil && *n.PrimaryIPv6
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

// viewReservation returns the response to a launch request: the instances in the order of their launch.
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
		v.LaunchIndex, v.State, v.StateReason = n, newInstanceState(statePending), &stateReason{statePending, statePending}
		out.Instances.Item = append(out.Instances.Item, v)
	}
	return out
}
