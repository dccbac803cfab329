package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// classic is a load balancer of the first generation. Its name is its identity.
type classic struct {
	name, scheme, vpc string
	dns               string
	listeners         []*classicListener
	policies          []*classicPolicy
	// backends are the policies of instance ports.
	backends   map[int32][]string
	subnets    []string
	groups     []string
	instances  []string
	registered map[string]time.Time
	check      classicCheck
	attributes classicAttributes
	made       time.Time
	enis       map[string]string
}

// classicTags returns the key of the tags of a classic load balancer.
func classicTags(name string) string { return "classic/" + name }

func classicBalancerOperations() []operation {
	return []operation{
		read("DescribeLoadBalancers", (*tx).describeClassics),
		write("CreateLoadBalancer", (*tx).createClassic),
		write("DeleteLoadBalancer", (*tx).deleteClassic),
		write("ApplySecurityGroupsToLoadBalancer", on((*tx).applyGroups)),
		write("AttachLoadBalancerToSubnets", on((*tx).attachSubnets)),
		write("DetachLoadBalancerFromSubnets", on((*tx).detachSubnets)),
		write("ConfigureHealthCheck", on((*tx).configureCheck)),
		read("DescribeLoadBalancerAttributes", on((*tx).describeClassicAttributes)),
		write("ModifyLoadBalancerAttributes", on((*tx).modifyClassicAttributes)),
		read("DescribeTags", (*tx).describeClassicTags),
		write("AddTags", (*tx).addClassicTags),
		write("RemoveTags", (*tx).removeClassicTags),
	}
}

type classicInput struct {
	ofClassic
	Listeners         []classicListener
	AvailabilityZones []string
	Subnets           []string
	SecurityGroups    []string
	Scheme            string
	Tags              []elbTag
}

func (t *tx) createClassic(in classicInput) (out struct {
	DNS string `xml:"DNSName"`
}, err error) {
	if old := t.classics[in.LoadBalancerName]; old != nil && old.sameAs(in) {
		out.DNS = old.dns
		return out, nil
	}
	if err := t.checkClassic(in); err != nil {
		return out, err
	}
	tags, err := checkELBTags(in.Tags)
	if err != nil {
		return out, err
	}
	b := &classic{
		name: in.LoadBalancerName, scheme: cmp.Or(in.Scheme, schemePublic), vpc: t.subnets[in.Subnets[0]].vpc,
		backends: map[int32][]string{},
		subnets:  slices.Clone(in.Subnets), groups: slices.Clone(in.SecurityGroups), registered: map[string]time.Time{},
		attributes: newClassicAttributes(), made: t.now, enis: map[string]string{},
	}
	if len(b.groups) == 0 {
		b.groups = []string{t.groupByName("default", b.vpc).id}
	}
	b.addListeners(in.Listeners)
	first := in.Listeners[0]
	b.check = classicCheck{Target: fmt.Sprintf("TCP:%d", first.InstancePort), Interval: 30, Timeout: 5,
		UnhealthyThreshold: 2, HealthyThreshold: 10}
	b.dns = fmt.Sprintf("%s-%d.%s.elb.%s", b.name, 1_000_000_000+t.cloud.random.Uint32()%1_000_000_000, t.o.Region,
		t.o.dnsSuffix())
	if b.scheme == schemeInternal {
		b.dns = "internal-" + b.dns
	}
	if err := t.attachClassic(b, b.subnets); err != nil {
		return out, err
	}
	t.classics[b.name], t.linkedRole = b, true
	t.setTags(classicTags(b.name), tags)
	t.hideNew(classicTags(b.name))
	out.DNS = b.dns
	return out, nil
}

// sameAs reports whether a load balancer is as requested; AWS then responds as if it had created it.
func (b *classic) sameAs(in classicInput) bool {
	for _, l := range in.Listeners {
		if old := b.listener(l.LoadBalancerPort); old == nil || !old.same(l) {
			return false
		}
	}
	return len(in.Listeners) == len(b.listeners) && cmp.Or(in.Scheme, schemePublic) == b.scheme &&
		slices.Equal(slices.Sorted(slices.Values(in.Subnets)), slices.Sorted(slices.Values(b.subnets))) &&
		slices.Equal(slices.Sorted(slices.Values(in.SecurityGroups)), slices.Sorted(slices.Values(b.groups)))
}

// checkClassic rejects an invalid load balancer.
func (t *tx) checkClassic(in classicInput) error {
	switch {
	case !balancerName.MatchString(in.LoadBalancerName):
		return validation("LoadBalancer name must only contain alphanumeric characters or hyphens, have at most 32, and "+
			"not begin or end with a hyphen: %s", in.LoadBalancerName)
	case len(in.Listeners) == 0:
		return validation("Either listeners or load balancer listeners must be specified")
	case len(in.AvailabilityZones) > 0:
		return validation("Only one of Subnets or AvailabilityZones may be specified, and this account has no EC2-Classic")
	case len(in.Subnets) == 0:
		return validation("Either AvailabilityZones or Subnets must be specified")
	case in.Scheme != "" && in.Scheme != schemeInternal && in.Scheme != schemePublic:
		return refuse("InvalidScheme", "Scheme '%s' must be 'internal' or 'internet-facing'", in.Scheme)
	}
	if has(t.classics, in.LoadBalancerName) {
		return refuse("DuplicateLoadBalancerName",
			"Load Balancer named %s already exists and it is configured with different parameters.", in.LoadBalancerName)
	}
	if len(t.classics) >= t.o.Quotas[QuotaClassicBalancers] {
		return refuse("TooManyLoadBalancers", "Exceeded quota of account")
	}
	if err := t.classicSubnets(nil, in.Subnets); err != nil {
		return err
	}
	if err := t.classicGroups(in.SecurityGroups, t.subnets[in.Subnets[0]].vpc); err != nil {
		return err
	}
	var listeners []*classicListener
	for _, l := range in.Listeners {
		if err := t.checkClassicListener(listeners, l); err != nil {
			return err
		}
		complete := l.complete()
		listeners = append(listeners, &complete)
	}
	return nil
}

// classicSubnets refuses subnets that cannot be added to those that a load balancer has.
func (t *tx) classicSubnets(have, add []string) error {
	zones := map[string]string{}
	vpc := ""
	for _, id := range slices.Concat(have, add) {
		s := t.subnets[id]
		if s == nil {
			return refuse("SubnetNotFound", "The requested subnet %s does not exist", id)
		}
		if vpc = cmp.Or(vpc, s.vpc); s.vpc != vpc {
			return refuse("InvalidSubnet", "The subnets must all belong to one VPC: %s does not", id)
		}
		if old := zones[s.zone]; old != "" && old != id {
			return refuseClassic("ELB cannot be attached to multiple subnets in the same AZ.")
		}
		zones[s.zone] = id
	}
	return nil
}

func (t *tx) classicGroups(groups []string, vpc string) error {
	for _, id := range groups {
		if g := t.groups[id]; g == nil || g.vpc != vpc {
			return refuse("InvalidSecurityGroup", "One or more of the specified security groups do not exist.")
		}
	}
	if limit := t.o.Quotas[QuotaGroupsPerInterface]; len(groups) > limit {
		return refuseClassic("At most %d security groups can be specified.", limit)
	}
	return nil
}

// attachClassic gives a load balancer an interface in each subnet and takes it from those that it left.
func (t *tx) attachClassic(b *classic, subnets []string) error {
	for _, id := range subnets {
		if b.enis[id] != "" {
			continue
		}
		n, err := t.newInterface(t.subnets[id], false)
		if err != nil {
			return refuse("InvalidSubnet", "Not enough IP space available in %s. ELB requires at least 8 free IP addresses "+
				"in each subnet.", id)
		}
		n.description, n.requester, n.groups = "ELB "+b.name, "amazon-elb", slices.Clone(b.groups)
		b.enis[id] = n.id
	}
	for id, eni := range b.enis {
		if !slices.Contains(subnets, id) {
			t.releaseInterface(eni)
			delete(b.enis, id)
		}
	}
	b.subnets = slices.Clone(subnets)
	return nil
}

func (t *tx) classicOf(name string) (*classic, error) {
	if b := t.classics[name]; b != nil {
		return b, nil
	}
	return nil, refuse("LoadBalancerNotFound", "There is no ACTIVE Load Balancer named '%s'", name)
}

// deleteClassic is no error when there is nothing to delete, as AWS documents.
func (t *tx) deleteClassic(in struct{ LoadBalancerName string }) (nothing, error) {
	if b := t.classics[in.LoadBalancerName]; b != nil {
		t.removeClassic(b)
	}
	return nothing{}, nil
}

func (t *tx) removeClassic(b *classic) {
	for _, eni := range b.enis {
		t.releaseInterface(eni)
	}
	delete(t.classics, b.name)
	t.removeRecords(classicTags(b.name))
}

func (t *tx) applyGroups(b *classic, in classicInput) (out struct {
	Groups query.Members[string] `xml:"SecurityGroups"`
}, err error) {
	if len(in.SecurityGroups) == 0 {
		return out, refuseClassic("At least one security group must be specified.")
	}
	if err := t.classicGroups(in.SecurityGroups, b.vpc); err != nil {
		return out, err
	}
	b.groups = slices.Clone(in.SecurityGroups)
	for _, eni := range b.enis {
		t.interfaces[eni].groups = slices.Clone(b.groups)
	}
	out.Groups = query.MembersOf(b.groups)
	return out, nil
}

type subnetsOutput struct {
	Subnets query.Members[string] `xml:"Subnets"`
}

func (t *tx) attachSubnets(b *classic, in classicInput) (out subnetsOutput, err error) {
	if err := t.classicSubnets(b.subnets, in.Subnets); err != nil {
		return out, err
	}
	after := slices.Compact(slices.Sorted(slices.Values(slices.Concat(b.subnets, in.Subnets))))
	err = t.attachClassic(b, after)
	return subnetsOutput{query.MembersOf(b.subnets)}, err
}

// detachSubnets rejects a load balancer without a subnet.
func (t *tx) detachSubnets(b *classic, in classicInput) (out subnetsOutput, err error) {
	after := slices.DeleteFunc(slices.Clone(b.subnets), func(id string) bool { return slices.Contains(in.Subnets, id) })
	if len(after) == 0 {
		return out, refuseClassic("You cannot detach all subnets from a load balancer.")
	}
	err = t.attachClassic(b, after)
	return subnetsOutput{query.MembersOf(b.subnets)}, err
}

func (t *tx) describeClassics(in struct {
	elbPage
	LoadBalancerNames []string
}) (out struct {
	Balancers  query.Members[classicView] `xml:"LoadBalancerDescriptions"`
	NextMarker string                     `xml:"NextMarker,omitempty"`
}, err error) {
	var found []*classic
	for _, name := range in.LoadBalancerNames {
		b, err := t.classicOf(name)
		if err == nil && !t.visible(classicTags(name)) {
			err = refuse("LoadBalancerNotFound", "There is no ACTIVE Load Balancer named '%s'", name)
		}
		if err != nil {
			return out, err
		}
		found = append(found, b)
	}
	if len(in.LoadBalancerNames) == 0 {
		for _, name := range sortedIDs(t.classics) {
			if t.visible(classicTags(name)) {
				found = append(found, t.classics[name])
			}
		}
	}
	out.Balancers, out.NextMarker, err = elbCut(found, in.elbPage, func(b *classic) string { return b.name },
		t.viewClassic)
	return out, err
}

type classicTagsInput struct {
	LoadBalancerNames []string
	Tags              []elbTag
}

func (t *tx) classicsNamed(names []string) (ids []string, err error) {
	if len(names) == 0 || len(names) > maxDescribeV2 {
		return nil, validation("Between 1 and %d load balancer names must be specified", maxDescribeV2)
	}
	for _, name := range names {
		if _, err := t.classicOf(name); err != nil {
			return nil, err
		}
		ids = append(ids, classicTags(name))
	}
	return ids, nil
}

func (t *tx) describeClassicTags(in classicTagsInput) (out elbTagsOutput, err error) {
	ids, err := t.classicsNamed(in.LoadBalancerNames)
	for _, id := range ids {
		out.Descriptions.Member = append(out.Descriptions.Member,
			elbTagsView{Name: strings.TrimPrefix(id, "classic/"), Tags: t.elbTags(id)})
	}
	return out, err
}

func (t *tx) addClassicTags(in classicTagsInput) (nothing, error) {
	ids, err := t.classicsNamed(in.LoadBalancerNames)
	if err != nil {
		return nothing{}, err
	}
	return nothing{}, t.addELBTags(ids, in.Tags)
}

func (t *tx) removeClassicTags(in classicTagsInput) (nothing, error) {
	ids, err := t.classicsNamed(in.LoadBalancerNames)
	if err != nil {
		return nothing{}, err
	}
	for _, id := range ids {
		for _, tag := range in.Tags {
			delete(t.tags[id], tag.Key)
		}
	}
	return nothing{}, nil
}
