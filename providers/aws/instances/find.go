package instances

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// IDOfNodeName returns the instance ID in the name of a Node: i-0123456789abcdef0 with any domain, which EC2
// assigns to instances with resource-based names, and the name of a Fargate node.
func IDOfNodeName(nodeName string) (id string, ok bool) {
	if names.IsFargate(nodeName) {
		return nodeName, true
	}
	id, _, _ = strings.Cut(nodeName, ".")
	return id, names.IsInstanceID(id)
}

// Find implements commoninstances.Source. The name of a Node is its instance's private DNS name, or contains
// the instance's ID, or contains its address before a custom domain (ip-10-0-1-2.example.com). Find ignores
// instances without the cluster's tag, because instances in other VPCs may have the same names.
func (s *Source) Find(
	ctx context.Context, nodes []commoninstances.NodeRef,
) ([]commoninstances.Instance, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	found := &matches{byName: map[string][]commoninstances.Instance{}, unread: map[string]error{}}
	others, err := s.findByID(ctx, commoninstances.NamesOf(nodes), found)
	if err != nil {
		return nil, err
	}
	if err := s.findByDNSName(ctx, conn, others, found); err != nil {
		return nil, err
	}
	addresses := map[string]string{}
	for _, name := range others {
		if ip, ok := addressInName(name); ok && len(found.byName[name]) == 0 && conn.VPC != "" {
			addresses[name] = ip.String()
		}
	}
	if err := s.findByAddress(ctx, conn, addresses, found); err != nil {
		return nil, err
	}
	return found.instances(), nil
}

// matches holds the instances found for each node name, and the errors of names whose instance could not be looked for.
type matches struct {
	byName map[string][]commoninstances.Instance
	unread map[string]error
}

func (m *matches) add(name string, i commoninstances.Instance) {
	m.byName[name] = append(m.byName[name], i)
}

// findByID finds Nodes with an ID in their name, and returns the names of the others.
func (s *Source) findByID(ctx context.Context, nodeNames []string, found *matches) (others []string, err error) {
	nameOf := map[string][]string{}
	for _, name := range nodeNames {
		if id, ok := IDOfNodeName(name); ok {
			nameOf[id] = append(nameOf[id], name)
		} else {
			others = append(others, name)
		}
	}
	if len(nameOf) == 0 {
		return others, nil
	}
	list, err := s.Get(ctx, slices.Sorted(maps.Keys(nameOf)))
	for _, i := range list {
		for _, name := range nameOf[i.ID] {
			found.add(name, i)
		}
	}
	return others, err
}

// findByDNSName finds instances with a private DNS name that is the name of the Node.
func (s *Source) findByDNSName(ctx context.Context, conn Connection, nodeNames []string, found *matches) error {
	return s.findValues(ctx, conn, search{filter: filterPrivateName, values: nodeNames,
		names: func(name string) []string { return []string{name} },
		value: func(i *ec2types.Instance) string { return aws.ToString(i.PrivateDnsName) }}, found)
}

// findByAddress finds instances by their primary address; addresses are by node name.
func (s *Source) findByAddress(
	ctx context.Context, conn Connection, addresses map[string]string, found *matches,
) error {
	nameOf := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		nameOf[addresses[name]] = append(nameOf[addresses[name]], name)
	}
	return s.findValues(ctx, conn, search{filter: filterPrivateIP, values: slices.Sorted(maps.Keys(nameOf)),
		names: func(address string) []string { return nameOf[address] },
		value: func(i *ec2types.Instance) string { return aws.ToString(i.PrivateIpAddress) }}, found)
}

// search is a search for instances by a property.
type search struct {
	// filter is the filter of the property; values are those to find.
	filter string
	values []string
	// names returns the names of Nodes with a value.
	names func(value string) []string
	// value returns the property of an instance.
	value func(*ec2types.Instance) string
}

// findValues reads the cluster's instances that a search matches, and adds them to found by node name.
func (s *Source) findValues(ctx context.Context, conn Connection, by search, found *matches) error {
	if len(by.values) == 0 {
		return nil
	}
	var list []ec2types.Instance
	var err error
	outage := s.outage.active()
	if !outage {
		read := func(filters []ec2types.Filter) ([]ec2types.Instance, error) { return conn.filter(ctx, filters) }
		list, err = inChunks(by.values, by.filter, append(conn.InVPC(), existingStates()), read)
		if outage = isOutage(ctx, err); outage {
			s.outage.begin()
		}
	}
	if outage {
		list, err = s.findByInterface(ctx, conn, by, found)
	}
	if err != nil {
		return err
	}
	list = conn.owned(list)
	converted := s.convert(ctx, conn, list)
	for n := range list {
		for _, name := range by.names(by.value(&list[n])) {
			found.add(name, converted[n])
		}
	}
	return nil
}

// findByInterface finds instances by the network interfaces of the VPC, which can be read while a zone is disrupted,
// and have the IDs and zones of their instances. A Node without an instance that can be read is unread: none may be
// taken for deleted.
func (s *Source) findByInterface(
	ctx context.Context, conn Connection, by search, found *matches,
) ([]ec2types.Instance, error) {
	interfaces, err := conn.describeInterfaces(ctx, append(conn.InVPC(),
		api.Filter("attachment.status", string(ec2types.AttachmentStatusAttached))))
	if err != nil {
		return nil, err
	}
	zones := map[string]string{}
	for n := range interfaces {
		id := ""
		if a := interfaces[n].Attachment; a != nil {
			id = aws.ToString(a.InstanceId)
		}
		i, cached := s.cache.Get(id)
		if names.IsInstanceID(id) && (!cached || slices.Contains(by.values, by.value(i.Instance))) {
			zones[id] = aws.ToString(interfaces[n].AvailabilityZone)
		}
	}
	s.outage.locate(zones)
	list, unread, err := s.get(ctx, conn, slices.Sorted(maps.Keys(zones)))
	if err != nil {
		return nil, err
	}
	cause := unreadError(unread)
	if cause == nil {
		cause = &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "DescribeInstances",
			Err: errors.New("EC2 does not search instances at the moment, as while a zone is disrupted")}
	}
	for _, value := range by.values {
		for _, name := range by.names(value) {
			found.unread[name] = cause
		}
	}
	return list, nil
}

// instances returns each instance under the requested node name. A name of two instances is Uncertain, because either
// may be that of the Node, and so is one that could not be looked for.
func (m *matches) instances() []commoninstances.Instance {
	var out []commoninstances.Instance
	for _, name := range slices.Sorted(maps.Keys(m.byName)) {
		list := m.byName[name]
		if len(list) > 1 {
			var ids []string
			for _, i := range list {
				ids = append(ids, i.ID)
			}
			slices.Sort(ids)
			out = append(out, commoninstances.Instance{NodeName: name, Uncertain: &cloudapi.Error{
				Class: cloudapi.Invalid, Operation: "DescribeInstances",
				Err: fmt.Errorf("node %s matches several instances (%s): start its kubelet with --provider-id",
					name, strings.Join(ids, ", "))}})
			continue
		}
		i := list[0]
		i.NodeName = name
		out = append(out, i)
	}
	for _, name := range slices.Sorted(maps.Keys(m.unread)) {
		if len(m.byName[name]) == 0 {
			out = append(out, commoninstances.Instance{NodeName: name, Uncertain: m.unread[name]})
		}
	}
	return out
}
