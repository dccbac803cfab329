package ec2

import (
	"cmp"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

var addressKind = core.IDKind{Prefix: "eipalloc", Code: "InvalidAllocationID", Noun: "allocation ID"}

// InstanceKind names instances in IDs and errors.
var InstanceKind = core.IDKind{Prefix: "i", Code: "InvalidInstanceID", Noun: "instance ID"}

var interfaceKind = core.IDKind{Prefix: "eni", Code: "InvalidNetworkInterfaceID", Noun: "networkInterface ID",
	Parameter: "NetworkInterfaceId", Set: "networkInterfaceSet"}

var (
	vpcKind = core.IDKind{Prefix: "vpc", Code: "InvalidVpcID", Noun: "vpc ID",
		Parameter: "VpcId", Set: "vpcSet"}
	subnetKind = core.IDKind{Prefix: "subnet", Code: "InvalidSubnetID", Noun: "subnet ID",
		Parameter: "SubnetId", Set: "subnetSet"}
)

var tableKind = core.IDKind{Prefix: "rtb", Code: "InvalidRouteTableID", Noun: "routeTable ID",
	Parameter: "RouteTableId", Set: "routeTableSet"}

var groupKind = core.IDKind{Prefix: "sg", Code: "InvalidGroup", Noun: "security group"}

var ruleKind = core.IDKind{Prefix: "sgr", Code: "InvalidSecurityGroupRuleId", Noun: "security group rule ID",
	Parameter: "SecurityGroupRuleId", Set: "securityGroupRuleSet"}

// tag is a tag in a request or a response of EC2.
type tag struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

// tagSet returns the list of an object's tags by key.
func (t *Tx) tagSet(id string) query.Items[tag] {
	var out []tag
	for _, k := range core.SortedIDs(t.Tags[id]) {
		out = append(out, tag{k, t.Tags[id][k]})
	}
	return query.ItemsOf(out)
}

// checkTags rejects tags that EC2 does not allow.
func checkTags(tags []tag) (map[string]string, error) {
	out := map[string]string{}
	for _, tag := range tags {
		switch {
		case tag.Key == "":
			return nil, core.InvalidValue("Tag key cannot be null or empty.")
		case strings.HasPrefix(strings.ToLower(tag.Key), "aws:"):
			return nil, core.InvalidValue("Tag keys starting with 'aws:' are reserved for internal use")
		case len([]rune(tag.Key)) > core.MaxTagKey:
			return nil, core.InvalidValue("Tag key exceeds the maximum length of %d characters", core.MaxTagKey)
		case len([]rune(tag.Value)) > core.MaxTagValue:
			return nil, core.InvalidValue("Tag value exceeds the maximum length of %d characters", core.MaxTagValue)
		}
		if core.Has(out, tag.Key) {
			return nil, core.InvalidValue("Duplicate tag key '%s' specified.", tag.Key)
		}
		out[tag.Key] = tag.Value
	}
	return out, nil
}

// tagSpecification has the tags of an object that a request creates.
type tagSpecification struct {
	ResourceType string
	Tag          []tag
}

// parseTags parses tag specifications. All must be for the type of the new object.
func parseTags(resource string, specifications []tagSpecification) (map[string]string, error) {
	var tags []tag
	for _, s := range specifications {
		if s.ResourceType != resource {
			return nil, core.InvalidValue("'%s' is not a valid checkTaggable resource type for this operation.", s.ResourceType)
		}
		tags = append(tags, s.Tag...)
	}
	if len(tags) > core.MaxTags {
		return nil, core.Refuse("TagLimitExceeded", "More than %d tags specified", core.MaxTags)
	}
	return checkTags(tags)
}

type tagsInput struct {
	ResourceID []string `q:"ResourceId"`
	Tag        []deletedTag
}

// deletedTag is a tag with an optional value. For deletion, an absent value differs from an empty one.
type deletedTag struct {
	Key   string
	Value *string
}

func (t *Tx) createTags(in tagsInput) (core.Done, error) {
	if len(in.ResourceID) == 0 {
		return core.Done{}, core.MissingParameter("resourceIdSet")
	}
	if len(in.Tag) == 0 {
		return core.Done{}, core.MissingParameter("tagSet")
	}
	list := make([]tag, 0, len(in.Tag))
	for _, d := range in.Tag {
		value := ""
		if d.Value != nil {
			value = *d.Value
		}
		list = append(list, tag{d.Key, value})
	}
	tags, err := checkTags(list)
	if err != nil {
		return core.Done{}, err
	}
	if err := t.checkTaggable(in.ResourceID); err != nil {
		return core.Done{}, err
	}
	for _, id := range in.ResourceID {
		if !t.FitsTags(id, tags) {
			return core.Done{}, core.Refuse("TagLimitExceeded", "The maximum number of Tags has been reached.")
		}
	}
	for _, id := range in.ResourceID {
		t.SetTags(id, tags)
	}
	return core.Done{Return: true}, nil
}

// deleteTags removes tags by key, or only if the value matches too. Missing tags are not an error.
func (t *Tx) deleteTags(in tagsInput) (core.Done, error) {
	if len(in.ResourceID) == 0 {
		return core.Done{}, core.MissingParameter("resourceIdSet")
	}
	if err := t.checkTaggable(in.ResourceID); err != nil {
		return core.Done{}, err
	}
	for _, id := range in.ResourceID {
		if len(in.Tag) == 0 {
			delete(t.Tags, id)
		}
		for _, d := range in.Tag {
			if d.Value == nil || *d.Value == t.Tags[id][d.Key] {
				delete(t.Tags[id], d.Key)
			}
		}
	}
	return core.Done{Return: true}, nil
}

// checkTaggable rejects IDs of objects that do not exist.
func (t *Tx) checkTaggable(ids []string) error {
	kinds := map[string]struct {
		kind   core.IDKind
		exists func(id string) bool
	}{
		"i":        {InstanceKind, func(id string) bool { return core.Has(t.Instances, id) }},
		"subnet":   {subnetKind, func(id string) bool { return core.Has(t.Subnets, id) }},
		"vpc":      {vpcKind, func(id string) bool { return core.Has(t.VPCs, id) }},
		"rtb":      {tableKind, func(id string) bool { return core.Has(t.Tables, id) }},
		"sg":       {groupKind, func(id string) bool { return core.Has(t.Groups, id) }},
		"sgr":      {ruleKind, func(id string) bool { _, r := t.ruleByID(id); return r != nil }},
		"eni":      {interfaceKind, func(id string) bool { return core.Has(t.Interfaces, id) }},
		"eipalloc": {addressKind, func(id string) bool { return core.Has(t.Addresses, id) }},
	}
	for _, id := range ids {
		prefix, _, _ := strings.Cut(id, "-")
		k, ok := kinds[prefix]
		if !ok || k.kind.Check(id) != nil {
			return core.Refuse("InvalidID", "The ID '%s' is not valid", id)
		}
		if !k.exists(id) {
			return k.kind.NotFound(id)
		}
	}
	return nil
}

// ResourceTypes are EC2's names of resource types, by the prefix of their IDs.
var ResourceTypes = map[string]string{
	"i": "instance", "subnet": "subnet", "vpc": "vpc", "rtb": "route-table", "sg": "security-group",
	"sgr": "security-group-rule", "eni": "network-interface", "eipalloc": "elastic-ip",
}

type tagDescription struct {
	ResourceID   string `xml:"resourceId" filter:"resource-id"`
	ResourceType string `xml:"resourceType" filter:"resource-type"`
	Key          string `xml:"key" filter:"key"`
	Value        string `xml:"value" filter:"value"`
}

type describeTagsOutput struct {
	Tags      query.Items[tagDescription] `xml:"tagSet"`
	NextToken string                      `xml:"nextToken,omitempty"`
}

func (t *Tx) describeTags(in struct{ core.Selection }) (describeTagsOutput, error) {
	var descriptions []tagDescription
	for id, tags := range t.Tags {
		prefix, _, _ := strings.Cut(id, "-")
		if ResourceTypes[prefix] == "" || !t.Visible(id) {
			continue
		}
		for k, v := range tags {
			descriptions = append(descriptions, tagDescription{id, ResourceTypes[prefix], k, v})
		}
	}
	descriptions, err := core.FilterViews(descriptions, in.Filter)
	if err != nil {
		return describeTagsOutput{}, err
	}
	var ids []string
	key := func(d tagDescription) string { return d.ResourceID + "/" + d.Key }
	slices.SortFunc(descriptions, func(a, b tagDescription) int { return cmp.Compare(key(a), key(b)) })
	for _, d := range descriptions {
		ids = append(ids, key(d))
	}
	out, next, err := core.Page(descriptions, ids, in.Selection, core.PageRule{})
	return describeTagsOutput{query.ItemsOf(out), next}, err
}
