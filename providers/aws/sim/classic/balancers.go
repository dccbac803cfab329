// Package classic simulates the first generation of Elastic Load Balancing.
package classic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// NewState returns the state without objects.
func NewState() *State { return &State{map[string]*balancer{}} }

// TagKey returns the key of the tags of a classic load balancer.
func TagKey(name string) string { return "classic/" + name }

func (n balancerRef) Object(t *Tx) (*balancer, error) { return t.findBalancer(n.LoadBalancerName) }

type balancerInput struct {
	balancerRef
	Listeners         []listener
	AvailabilityZones []string
	Subnets           []string
	SecurityGroups    []string
	Scheme            string
	Tags              []elb.Tag
}

func (t *Tx) createBalancer(in balancerInput) (out struct {
	DNS string `xml:"DNSName"`
}, err error) {
	if old := t.balancers[in.LoadBalancerName]; old != nil && old.equals(in) {
		out.DNS = old.dns
		return out, nil
	}
	if err := t.checkBalancer(in); err != nil {
		return out, err
	}
	tags, err := elb.CheckTags(in.Tags)
	if err != nil {
		return out, err
	}
	b := &balancer{
		name: in.LoadBalancerName, scheme: cmp.Or(in.Scheme, elb.SchemePublic), VPC: t.Subnets[in.Subnets[0]].VPC,
		subnets: slices.Clone(in.Subnets), groups: slices.Clone(in.SecurityGroups), attributes: defaultAttributes(),
		created: t.Now, backends: map[int32][]string{}, registered: map[string]time.Time{}, ENIs: map[string]string{},
	}
	if len(b.groups) == 0 {
		b.groups = []string{t.GroupByName("default", b.VPC).ID}
	}
	b.addListeners(in.Listeners)
	b.check = healthCheck{Target: fmt.Sprintf("TCP:%d", in.Listeners[0].InstancePort), Interval: 30, Timeout: 5,
		UnhealthyThreshold: 2, HealthyThreshold: 10}
	b.dns = fmt.Sprintf("%s-%d.%s.elb.%s", b.name, 1_000_000_000+t.Random.Uint32()%1_000_000_000, t.Options.Region,
		t.Options.DNSSuffix())
	if b.scheme == elb.SchemeInternal {
		b.dns = "internal-" + b.dns
	}
	if err := t.attachBalancer(b, b.subnets); err != nil {
		return out, err
	}
	t.balancers[b.name], t.LinkedRole = b, true
	t.SetTags(TagKey(b.name), tags)
	t.HideNew(TagKey(b.name))
	out.DNS = b.dns
	return out, nil
}

// equals reports whether a load balancer equals a requested one: AWS then responds as if it had created it.
func (b *balancer) equals(in balancerInput) bool {
	for _, l := range in.Listeners {
		if old := b.listener(l.LoadBalancerPort); old == nil || !old.equals(l) {
			return false
		}
	}
	return len(in.Listeners) == len(b.listeners) && cmp.Or(in.Scheme, elb.SchemePublic) == b.scheme &&
		slices.Equal(slices.Sorted(slices.Values(in.Subnets)), slices.Sorted(slices.Values(b.subnets))) &&
		slices.Equal(slices.Sorted(slices.Values(in.SecurityGroups)), slices.Sorted(slices.Values(b.groups)))
}

// checkBalancer rejects an invalid load balancer.
func (t *Tx) checkBalancer(in balancerInput) error {
	switch {
	case !elb.NamePattern.MatchString(in.LoadBalancerName):
		return core.Validation(
			"LoadBalancer name must only contain alphanumeric characters or hyphens, have at most 32 characters, and "+
				"not begin or end with a hyphen: %s", in.LoadBalancerName)
	case len(in.Listeners) == 0:
		return core.Validation("Either listeners or load balancer listeners must be specified")
	case len(in.AvailabilityZones) > 0:
		return core.Validation(
			"Only one of Subnets or AvailabilityZones may be specified, and this account has no EC2-Classic")
	case len(in.Subnets) == 0:
		return core.Validation("Either AvailabilityZones or Subnets must be specified")
	case in.Scheme != "" && in.Scheme != elb.SchemeInternal && in.Scheme != elb.SchemePublic:
		return core.Refuse("InvalidScheme", "Scheme '%s' must be 'internal' or 'internet-facing'", in.Scheme)
	}
	if core.Has(t.balancers, in.LoadBalancerName) {
		return core.Refuse("DuplicateLoadBalancerName",
			"Load Balancer named %s already exists and it is configured with different parameters.", in.LoadBalancerName)
	}
	if len(t.balancers) >= t.Options.Quotas[core.QuotaClassicBalancers] {
		return core.Refuse("TooManyLoadBalancers", "Exceeded quota of account")
	}
	if err := t.checkSubnets(nil, in.Subnets); err != nil {
		return err
	}
	if err := t.checkGroups(in.SecurityGroups, t.Subnets[in.Subnets[0]].VPC); err != nil {
		return err
	}
	return t.checkListeners(nil, in.Listeners)
}

// checkSubnets rejects subnets that cannot be added to those of a load balancer.
func (t *Tx) checkSubnets(current, added []string) error {
	zones := map[string]string{}
	vpc := ""
	for _, id := range slices.Concat(current, added) {
		s := t.Subnets[id]
		if s == nil {
			return core.Refuse("SubnetNotFound", "The requested subnet %s does not exist", id)
		}
		if vpc = cmp.Or(vpc, s.VPC); s.VPC != vpc {
			return core.Refuse("InvalidSubnet", "The subnets must all belong to one VPC: %s does not", id)
		}
		if old := zones[s.Zone]; old != "" && old != id {
			return refuseConfiguration("ELB cannot be attached to multiple subnets in the same AZ.")
		}
		zones[s.Zone] = id
	}
	return nil
}

func (t *Tx) checkGroups(groups []string, vpc string) error {
	for _, id := range groups {
		if g := t.Groups[id]; g == nil || g.VPC != vpc {
			return core.Refuse("InvalidSecurityGroup", "One or more of the specified security groups do not exist.")
		}
	}
	if limit := t.Options.Quotas[core.QuotaGroupsPerInterface]; len(groups) > limit {
		return refuseConfiguration("At most %d security groups can be specified.", limit)
	}
	return nil
}

// attachBalancer creates the network interfaces of a load balancer in the subnets, and releases those in other subnets.
func (t *Tx) attachBalancer(b *balancer, subnets []string) error {
	for _, id := range subnets {
		n, added, err := t.Attach(b.ENIs, id, false)
		if err != nil {
			return err
		}
		if added {
			n.Description, n.Groups = "ELB "+b.name, slices.Clone(b.groups)
		}
	}
	t.DetachOthers(b.ENIs, subnets)
	b.subnets = slices.Clone(subnets)
	return nil
}

func (t *Tx) findBalancer(name string) (*balancer, error) {
	if b := t.balancers[name]; b != nil {
		return b, nil
	}
	return nil, errNoBalancer(name)
}

func errNoBalancer(name string) error {
	return core.Refuse("LoadBalancerNotFound", "There is no ACTIVE Load Balancer named '%s'", name)
}

// deleteBalancer succeeds if the load balancer does not exist, as AWS documents.
func (t *Tx) deleteBalancer(in struct{ LoadBalancerName string }) (core.Nothing, error) {
	if b := t.balancers[in.LoadBalancerName]; b != nil {
		t.removeBalancer(b)
	}
	return core.Nothing{}, nil
}

func (t *Tx) removeBalancer(b *balancer) {
	for _, eni := range b.ENIs {
		t.ReleaseInterface(eni)
	}
	delete(t.balancers, b.name)
	t.RemoveRecords(TagKey(b.name))
}

func (t *Tx) applyGroups(b *balancer, in balancerInput) (out struct {
	Groups query.Members[string] `xml:"SecurityGroups"`
}, err error) {
	if len(in.SecurityGroups) == 0 {
		return out, refuseConfiguration("At least one security group must be specified.")
	}
	if err := t.checkGroups(in.SecurityGroups, b.VPC); err != nil {
		return out, err
	}
	b.groups = slices.Clone(in.SecurityGroups)
	t.SetGroups(b.ENIs, b.groups)
	out.Groups = query.MembersOf(b.groups)
	return out, nil
}

type subnetsOutput struct {
	Subnets query.Members[string] `xml:"Subnets"`
}

func (t *Tx) attachSubnets(b *balancer, in balancerInput) (out subnetsOutput, err error) {
	if err := t.checkSubnets(b.subnets, in.Subnets); err != nil {
		return out, err
	}
	after := slices.Compact(slices.Sorted(slices.Values(slices.Concat(b.subnets, in.Subnets))))
	err = t.attachBalancer(b, after)
	return subnetsOutput{query.MembersOf(b.subnets)}, err
}

// detachSubnets rejects a load balancer without a subnet.
func (t *Tx) detachSubnets(b *balancer, in balancerInput) (out subnetsOutput, err error) {
	after := slices.DeleteFunc(slices.Clone(b.subnets), func(id string) bool { return slices.Contains(in.Subnets, id) })
	if len(after) == 0 {
		return out, refuseConfiguration("You cannot detach all subnets from a load balancer.")
	}
	err = t.attachBalancer(b, after)
	return subnetsOutput{query.MembersOf(b.subnets)}, err
}

func (t *Tx) describeBalancers(in struct {
	elb.Page
	LoadBalancerNames []string
}) (out struct {
	Balancers  query.Members[balancerView] `xml:"LoadBalancerDescriptions"`
	NextMarker string                      `xml:"NextMarker,omitempty"`
}, err error) {
	var found []*balancer
	for _, name := range in.LoadBalancerNames {
		if t.balancers[name] == nil || !t.Visible(TagKey(name)) {
			return out, errNoBalancer(name)
		}
		found = append(found, t.balancers[name])
	}
	if len(in.LoadBalancerNames) == 0 {
		for _, name := range core.SortedIDs(t.balancers) {
			if t.Visible(TagKey(name)) {
				found = append(found, t.balancers[name])
			}
		}
	}
	out.Balancers, out.NextMarker, err = elb.Cut(found, in.Page, func(b *balancer) string { return b.name },
		t.viewBalancer)
	return out, err
}

type tagsInput struct {
	LoadBalancerNames []string
	Tags              []elb.Tag
}

func (t *Tx) tagKeysOf(names []string) (ids []string, err error) {
	if len(names) == 0 || len(names) > elb.MaxDescribeV2 {
		return nil, core.Validation("Between 1 and %d load balancer names must be specified", elb.MaxDescribeV2)
	}
	for _, name := range names {
		if _, err := t.findBalancer(name); err != nil {
			return nil, err
		}
		ids = append(ids, TagKey(name))
	}
	return ids, nil
}

func (t *Tx) describeTags(in tagsInput) (out elb.TagsOutput, err error) {
	ids, err := t.tagKeysOf(in.LoadBalancerNames)
	for _, id := range ids {
		out.Descriptions.Member = append(out.Descriptions.Member,
			elb.TagsView{Name: strings.TrimPrefix(id, "classic/"), Tags: t.ELBTags(id)})
	}
	return out, err
}

func (t *Tx) addTags(in tagsInput) (core.Nothing, error) {
	ids, err := t.tagKeysOf(in.LoadBalancerNames)
	if err != nil {
		return core.Nothing{}, err
	}
	return core.Nothing{}, t.AddELBTags(ids, in.Tags)
}

func (t *Tx) removeTags(in tagsInput) (core.Nothing, error) {
	ids, err := t.tagKeysOf(in.LoadBalancerNames)
	if err != nil {
		return core.Nothing{}, err
	}
	for _, id := range ids {
		for _, tag := range in.Tags {
			delete(t.Tags[id], tag.Key)
		}
	}
	return core.Nothing{}, nil
}

func (t *Tx) describeAttributes(b *balancer, _ struct{ balancerRef }) (out struct {
	Attributes attributesView `xml:"LoadBalancerAttributes"`
}, err error) {
	out.Attributes = attributesView{b.attributes, query.MembersOf(b.attributes.AdditionalAttributes)}
	return out, nil
}

func (t *Tx) modifyAttributes(b *balancer, in struct {
	balancerRef
	Attributes attributes `q:"LoadBalancerAttributes"`
}) (out struct {
	Name       string         `xml:"LoadBalancerName"`
	Attributes attributesView `xml:"LoadBalancerAttributes"`
}, err error) {
	if err := in.Attributes.validate(); err != nil {
		return out, err
	}
	b.attributes = b.attributes.merge(in.Attributes)
	out.Name, out.Attributes = b.name, attributesView{in.Attributes,
		query.MembersOf(in.Attributes.AdditionalAttributes)}
	return out, nil
}

func (t *Tx) createListeners(b *balancer, in balancerInput) (core.Nothing, error) {
	if err := t.checkListeners(b.listeners, in.Listeners); err != nil {
		return core.Nothing{}, err
	}
	b.addListeners(in.Listeners)
	return core.Nothing{}, nil
}
