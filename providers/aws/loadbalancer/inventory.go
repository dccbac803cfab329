package loadbalancer

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/classic"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

var _ inventory.Lister = (*Cloud)(nil)

// groupDescription matches descriptions of security groups of load balancers, which have a load balancer and a Service.
// Groups of classic load balancers have no tag with the Service.
var groupDescription = regexp.MustCompile(`^Security group for Kubernetes ELB (\S+) \((\S+)\)$`)

// kindClassicListener is the kind of listeners of classic load balancers.
const kindClassicListener = "classic listener"

// ListInventory implements inventory.Lister with the objects of the VPC: both generations of load balancers, target
// groups, security groups of load balancers, and the rules for them in other groups.
func (c *Cloud) ListInventory(ctx context.Context, request inventory.Request) inventory.Inventory {
	kinds := []string{model.KindBalancer, model.KindTargetGroup, vpc.KindGroup, vpc.KindRules}
	g, err := c.generations.Get(ctx)
	if err != nil {
		found := inventory.Inventory{}
		for _, kind := range kinds {
			found.Kinds = append(found.Kinds, inventory.Kind{Name: kind, Err: err})
		}
		return found
	}
	l := &lister{cluster: g.cluster, users: map[string][]string{}, byName: map[string]inventory.Object{}}
	l.found.Cluster = g.cluster.ID
	networks := g.network.Store().List(ctx, request.Parts)
	classics, classicErr := g.classic.List(ctx)
	groups, groupsErr := g.reader.Groups().List(ctx)
	balancersErr := networks.BalancersErr
	if balancersErr == nil {
		balancersErr = classicErr
	}
	needs := []string{model.KindBalancer}
	l.found.Kinds = []inventory.Kind{
		{Name: model.KindBalancer, Err: balancersErr},
		{Name: model.KindTargetGroup, Needs: needs, Err: networks.GroupsErr},
		{Name: vpc.KindGroup, Needs: needs, Err: groupsErr},
		{Name: vpc.KindRules, Needs: append(needs, vpc.KindGroup), Err: groupsErr},
	}
	if request.Parts {
		l.found.Kinds = append(l.found.Kinds,
			inventory.Kind{Name: model.KindListener, Needs: needs, Err: networks.ListenersErr},
			inventory.Kind{Name: kindClassicListener, Needs: needs, Err: classicErr})
	}
	l.addNetworks(networks)
	l.addClassics(classics, request.Parts)
	l.addGroups(groups)
	return l.found
}

// lister builds one inventory.
type lister struct {
	cluster vpc.Cluster
	found   inventory.Inventory
	// users are the IDs of the load balancers that use a security group, by its ID. byName are the load balancers by name.
	users  map[string][]string
	byName map[string]inventory.Object
}

func (l *lister) add(o inventory.Object) { l.found.Objects = append(l.found.Objects, o) }

// mark returns the cluster in the tags of an object.
func (l *lister) mark(tags map[string]string) inventory.Mark {
	m := inventory.Mark{UID: tags[names.ClusterUIDTag], Cluster: tags[names.LegacyClusterTag]}
	if names.HasCluster(tags, l.cluster.ID) {
		m.Cluster = l.cluster.ID
		return m
	}
	if ids := names.ClusterIDs(tags); len(ids) > 0 {
		m.Cluster = ids[0]
	}
	return m
}

// owners returns the Service in the tags of an object, with the UID in the name of its load balancer.
func owners(tags map[string]string, loadBalancer string) []inventory.Owner {
	namespace, name, ok := strings.Cut(tags[names.ServiceTag], "/")
	if !ok {
		return nil
	}
	owner := inventory.Owner{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	if names.IsLoadBalancerName(loadBalancer) {
		owner.LoadBalancer, owner.UID = loadBalancer, loadBalancer[1:]
	}
	return []inventory.Owner{owner}
}

// addBalancer adds a load balancer of either generation. It returns false for one without a mark.
func (l *lister) addBalancer(
	o inventory.Object, tags map[string]string, groups []string,
) (inventory.Object, bool) {
	for _, id := range groups {
		l.users[id] = append(l.users[id], o.ID)
	}
	o.Kind, o.Mark, o.Owners = model.KindBalancer, l.mark(tags), owners(tags, o.Name)
	if o.Mark == (inventory.Mark{}) || len(o.Owners) == 0 && o.Mark.UID == "" {
		return o, false // it belongs to no Service
	}
	l.byName[o.Name] = o
	l.add(o)
	return o, true
}

func (l *lister) addNetworks(listed observe.Listed) {
	for _, b := range listed.Balancers {
		object := inventory.Object{ID: b.ARN, Name: b.Name, Created: b.Created,
			Fields: []inventory.Field{{Name: "dns", Value: b.DNSName}}}
		if b.State == "provisioning" {
			object.Settling = b.State
		}
		object, ok := l.addBalancer(object, b.Tags, b.SecurityGroups)
		if !ok {
			continue
		}
		for _, x := range listed.Listeners[b.ARN] {
			l.add(object.Part(model.KindListener, x.ARN, model.ListenerName(b.Name, x.Port),
				inventory.Field{Name: "port", Value: fmt.Sprintf("%d/%s", x.Port, x.Protocol)}))
		}
	}
	for _, g := range listed.Groups {
		object := inventory.Object{Kind: model.KindTargetGroup, ID: g.ARN, Name: g.Name, UsedBy: g.Balancers,
			Mark: l.mark(g.Tags), Owners: owners(g.Tags, ""),
			Fields: []inventory.Field{{Name: "port", Value: fmt.Sprintf("%d/%s", g.Port, g.Protocol)}}}
		if object.Mark != (inventory.Mark{}) && len(object.Owners) > 0 {
			l.add(object)
		}
	}
}

func (l *lister) addClassics(list []classic.Balancer, parts bool) {
	for _, b := range list {
		object, ok := l.addBalancer(inventory.Object{ID: classic.InventoryID(b.Name), Name: b.Name, Created: b.Created,
			Fields: []inventory.Field{{Name: "dns", Value: b.DNS}}}, b.Tags, b.Groups)
		if !ok || !parts {
			continue
		}
		for _, x := range b.Listeners {
			name := fmt.Sprintf("%s/%d", b.Name, x.Port)
			l.add(object.Part(kindClassicListener, object.ID+"/"+fmt.Sprint(x.Port), name,
				inventory.Field{Name: "port", Value: fmt.Sprintf("%d/%s", x.Port, x.Protocol)}))
		}
	}
}

// addGroups adds the security groups of load balancers, and the rules for load balancers and for those groups.
func (l *lister) addGroups(all []vpc.Group) {
	managed := map[string]inventory.Object{}
	for _, g := range all {
		loadBalancer, isClassic := strings.CutPrefix(g.Name, names.ClassicGroupName(""))
		groupOwners := owners(g.Tags, loadBalancer)
		if parts := groupDescription.FindStringSubmatch(g.Description); len(groupOwners) == 0 && len(parts) == 3 {
			groupOwners = owners(map[string]string{names.ServiceTag: parts[2]}, parts[1])
		}
		mark := l.mark(g.Tags)
		if mark == (inventory.Mark{}) || len(groupOwners) == 0 || !isClassic && !strings.HasPrefix(g.Name, "k8s-") {
			continue
		}
		object := inventory.Object{Kind: vpc.KindGroup, ID: g.ID, Name: g.Name, Mark: mark, Owners: groupOwners,
			UsedBy: l.users[g.ID],
			Fields: []inventory.Field{{Name: "rules", Value: fmt.Sprint(len(g.Rules))}}}
		managed[g.ID] = object
		l.add(object)
	}
	for _, g := range all {
		counts, sources := map[string]int{}, []string{}
		for _, r := range g.Rules {
			source := ruleSource(r)
			if _, ok := managed[r.SourceGroup]; ok && g.AllowsLoadBalancer(r) {
				source = r.SourceGroup
			}
			if source == "" {
				continue
			}
			if counts[source]++; counts[source] == 1 {
				sources = append(sources, source)
			}
		}
		for _, source := range sources {
			l.add(l.rulesObject(g, source, managed, counts[source]))
		}
	}
}

// ruleSource returns the name of the load balancer in the description of a rule, or "".
func ruleSource(r vpc.Rule) string {
	for _, prefix := range []string{names.ClientRulePrefix, names.HealthRulePrefix} {
		if name, ok := strings.CutPrefix(r.Description, prefix); ok {
			return name
		}
	}
	return ""
}

// rulesObject returns the object of n rules of a group for the traffic from a load balancer or from its group, which
// proves their owner.
func (l *lister) rulesObject(g vpc.Group, source string, groups map[string]inventory.Object, n int) inventory.Object {
	object := inventory.Object{Kind: vpc.KindRules, ID: vpc.RulesID(g.ID, source), Name: g.String(),
		Mark: inventory.Mark{Cluster: l.mark(g.Tags).Cluster}, Note: "nothing shows the cluster of load balancer " + source,
		Fields: []inventory.Field{{Name: "from", Value: source}, {Name: "rules", Value: fmt.Sprint(n)}}}
	parent, ok := groups[source]
	if !ok {
		parent, ok = l.byName[source]
	}
	if ok {
		object.Mark, object.Owners, object.Parent = parent.Mark, parent.Owners, parent.ID
	} else if names.IsLoadBalancerName(source) {
		object.Owners = []inventory.Owner{{LoadBalancer: source, UID: source[1:]}}
	}
	return object
}
