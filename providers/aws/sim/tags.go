package sim

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// tag is a tag in a request or a response of EC2.
type tag struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

// The limits on tags that all of AWS shares.
const (
	maxTags     = 50
	maxTagKey   = 128
	maxTagValue = 256
)

// tagSet returns the list of an object's tags by key.
func (t *tx) tagSet(id string) query.Items[tag] {
	var out []tag
	for _, k := range slices.Sorted(maps.Keys(t.tags[id])) {
		out = append(out, tag{k, t.tags[id][k]})
	}
	return query.ItemsOf(out)
}

// setTags adds tags to an object.
func (t *tx) setTags(id string, tags map[string]string) {
	if len(tags) == 0 {
		return
	}
	if t.tags[id] == nil {
		t.tags[id] = map[string]string{}
	}
	maps.Copy(t.tags[id], tags)
}

// checkTags refuses tags that EC2 does not allow.
func checkTags(tags []tag) (map[string]string, error) {
	out := map[string]string{}
	for _, tag := range tags {
		switch {
		case tag.Key == "":
			return nil, invalidValue("Tag key cannot be null or empty.")
		case strings.HasPrefix(strings.ToLower(tag.Key), "aws:"):
			return nil, invalidValue("Tag keys starting with 'aws:' are reserved for internal use")
		case len([]rune(tag.Key)) > maxTagKey:
			return nil, invalidValue("Tag key exceeds the maximum length of %d characters", maxTagKey)
		case len([]rune(tag.Value)) > maxTagValue:
			return nil, invalidValue("Tag value exceeds the maximum length of %d characters", maxTagValue)
		}
		if _, twice := out[tag.Key]; twice {
			return nil, invalidValue("Duplicate tag key '%s' specified.", tag.Key)
		}
		out[tag.Key] = tag.Value
	}
	return out, nil
}

// tagSpecification are tags for an object that a request makes.
type tagSpecification struct {
	ResourceType string
	Tag          []tag
}

// tagsFor reads the specifications, all of which must be for the kind of object that is made.
func tagsFor(resource string, specifications []tagSpecification) (map[string]string, error) {
	var all []tag
	for _, s := range specifications {
		if s.ResourceType != resource {
			return nil, invalidValue("'%s' is not a valid taggable resource type for this operation.", s.ResourceType)
		}
		all = append(all, s.Tag...)
	}
	if len(all) > maxTags {
		return nil, refuse("TagLimitExceeded", "More than %d tags specified", maxTags)
	}
	return checkTags(all)
}

func tagOperations() []operation {
	return []operation{
		write("CreateTags", (*tx).createTags),
		write("DeleteTags", (*tx).deleteTags),
		read("DescribeTags", (*tx).describeTags),
	}
}

type tagsInput struct {
	ResourceID []string `q:"ResourceId"`
	Tag        []deletedTag
}

// deletedTag is a tag with an optional value; an absent value differs from an empty one.
type deletedTag struct {
	Key   string
	Value *string
}

func (t *tx) createTags(in tagsInput) (done, error) {
	if len(in.ResourceID) == 0 {
		return done{}, missingParameter("resourceIdSet")
	}
	if len(in.Tag) == 0 {
		return done{}, missingParameter("tagSet")
	}
	given := make([]tag, 0, len(in.Tag))
	for _, d := range in.Tag {
		value := ""
		if d.Value != nil {
			value = *d.Value
		}
		given = append(given, tag{d.Key, value})
	}
	tags, err := checkTags(given)
	if err != nil {
		return done{}, err
	}
	if err := t.taggable(in.ResourceID); err != nil {
		return done{}, err
	}
	for _, id := range in.ResourceID {
		after := maps.Clone(t.tags[id])
		if after == nil {
			after = map[string]string{}
		}
		maps.Copy(after, tags)
		if len(after) > maxTags {
			return done{}, refuse("TagLimitExceeded", "The maximum number of Tags has been reached.")
		}
	}
	for _, id := range in.ResourceID {
		t.setTags(id, tags)
	}
	return done{true}, nil
}

// deleteTags removes tags by key, or only where the value too is as given. Missing tags are no error.
func (t *tx) deleteTags(in tagsInput) (done, error) {
	if len(in.ResourceID) == 0 {
		return done{}, missingParameter("resourceIdSet")
	}
	if err := t.taggable(in.ResourceID); err != nil {
		return done{}, err
	}
	for _, id := range in.ResourceID {
		if len(in.Tag) == 0 {
			delete(t.tags, id)
		}
		for _, d := range in.Tag {
			if have, ok := t.tags[id][d.Key]; ok && (d.Value == nil || *d.Value == have) {
				delete(t.tags[id], d.Key)
			}
		}
	}
	return done{true}, nil
}

// taggable refuses IDs under which nothing exists.
func (t *tx) taggable(ids []string) error {
	kinds := map[string]struct {
		kind  idKind
		known func(id string) bool
	}{
		"i":        {instanceKind, func(id string) bool { return has(t.instances, id) }},
		"subnet":   {subnetKind, func(id string) bool { return has(t.subnets, id) }},
		"vpc":      {vpcKind, func(id string) bool { return has(t.vpcs, id) }},
		"rtb":      {tableKind, func(id string) bool { return has(t.tables, id) }},
		"sg":       {groupKind, func(id string) bool { return has(t.groups, id) }},
		"sgr":      {ruleKind, func(id string) bool { _, r := t.ruleByID(id); return r != nil }},
		"eni":      {interfaceKind, func(id string) bool { return has(t.interfaces, id) }},
		"eipalloc": {addressKind, func(id string) bool { return has(t.addresses, id) }},
	}
	for _, id := range ids {
		prefix, _, _ := strings.Cut(id, "-")
		k, ok := kinds[prefix]
		if !ok {
			return refuse("InvalidID", "The ID '%s' is not valid", id)
		}
		if err := k.kind.check(id); err != nil {
			return refuse("InvalidID", "The ID '%s' is not valid", id)
		}
		if !k.known(id) {
			return k.kind.notFound(id)
		}
	}
	return nil
}

// resourceTypes are EC2's words for what has a tag, by the prefix of its ID.
var resourceTypes = map[string]string{
	"i": "instance", "subnet": "subnet", "vpc": "vpc", "rtb": "route-table", "sg": "security-group",
	"sgr": "security-group-rule", "eni": "network-interface", "eipalloc": "elastic-ip",
}

type tagDescription struct {
	ResourceID   string `xml:"resourceId"`
	ResourceType string `xml:"resourceType"`
	Key          string `xml:"key"`
	Value        string `xml:"value"`
}

type describeTagsOutput struct {
	Tags      query.Items[tagDescription] `xml:"tagSet"`
	NextToken string                      `xml:"nextToken,omitempty"`
}

func (t *tx) describeTags(in struct{ selection }) (describeTagsOutput, error) {
	values := func(d tagDescription, name string) ([]string, bool) {
		return oneOf(name, map[string]string{
			"key": d.Key, "value": d.Value, "resource-id": d.ResourceID, "resource-type": d.ResourceType,
		})
	}
	if err := in.check(); err != nil {
		return describeTagsOutput{}, err
	}
	if err := checkFilters(in.Filter, values); err != nil {
		return describeTagsOutput{}, err
	}
	var all []tagDescription
	var ids []string
	for id, tags := range t.tags {
		prefix, _, _ := strings.Cut(id, "-")
		if resourceTypes[prefix] == "" || !t.visible(id) {
			continue
		}
		for k, v := range tags {
			d := tagDescription{id, resourceTypes[prefix], k, v}
			if matchesAll(t, "", d, in.Filter, values) {
				all = append(all, d)
			}
		}
	}
	key := func(d tagDescription) string { return d.ResourceID + "/" + d.Key }
	slices.SortFunc(all, func(a, b tagDescription) int { return cmp.Compare(key(a), key(b)) })
	for _, d := range all {
		ids = append(ids, key(d))
	}
	out, next, err := page(all, ids, in.selection, ec2Pages)
	return describeTagsOutput{query.ItemsOf(out), next}, err
}
