package loadbalancer

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

var _ inventory.Lister = (*Cloud)(nil)

// ListInventory implements inventory.Lister: two lists, of the load balancers with their parts and of the addresses.
// The shared snapshot is not enough, because it has the objects of one cluster only.
func (c *Cloud) ListInventory(ctx context.Context, request inventory.Request) inventory.Inventory {
	lbs, err := c.api.ListLoadBalancers(ctx, "", "")
	found := inventory.Inventory{Cluster: request.ClusterName}
	found.Kinds = append(found.Kinds, inventory.Kind{Name: kindLoadBalancer, Err: err})
	if request.Parts {
		found.Kinds = append(found.Kinds, inventory.Kind{Name: kindListener, Err: err},
			inventory.Kind{Name: kindPool, Err: err})
	}
	for _, lb := range lbs {
		if lb.Cluster == "" && !strings.HasPrefix(lb.Name, namePrefix) {
			continue // of no cluster
		}
		object := loadBalancerObject(lb)
		found.Objects = append(found.Objects, object)
		if request.Parts {
			found.Objects = append(found.Objects, partObjects(object, lb)...)
		}
	}
	addresses, err := c.api.ListAddresses(ctx, "", "")
	found.Kinds = append(found.Kinds, inventory.Kind{Name: kindAddress, Needs: []string{kindLoadBalancer}, Err: err})
	for _, address := range addresses {
		if object, ok := addressObject(address); ok {
			found.Objects = append(found.Objects, object)
		}
	}
	return found
}

func loadBalancerObject(lb api.LoadBalancer) inventory.Object {
	object := inventory.Object{
		Kind: kindLoadBalancer, ID: lb.ID, Name: lb.Name,
		Mark:   markOf(lb.Cluster, lb.Tags),
		Owners: ownersOf(lb.Name, lb.Tags),
		Fields: []inventory.Field{{Name: "scheme", Value: lb.Scheme},
			{Name: "addresses", Value: strings.Join(lb.Addresses, ", ")}},
	}
	if lb.State != api.LBActive {
		object.Settling = lb.State
	}
	return object
}

func partObjects(parent inventory.Object, lb api.LoadBalancer) []inventory.Object {
	parts := make([]inventory.Object, 0, len(lb.Listeners)+len(lb.Pools))
	for _, l := range lb.Listeners {
		parts = append(parts, parent.Part(kindListener, lb.ID+"/"+kindListener+"/"+l.Name, l.Name,
			inventory.Field{Name: "port", Value: fmt.Sprintf("%d/%s", l.Port, l.Protocol)}))
	}
	for _, p := range lb.Pools {
		parts = append(parts, parent.Part(kindPool, lb.ID+"/"+kindPool+"/"+p.Name, p.Name,
			inventory.Field{Name: "members", Value: fmt.Sprint(len(p.Members))}))
	}
	return parts
}

// addressObject returns false for an address that no cluster has marked.
func addressObject(address api.Address) (inventory.Object, bool) {
	name, hasOwner := addressOwner(address.Name)
	if address.Cluster == "" && (!hasOwner || !strings.HasPrefix(name, namePrefix)) {
		return inventory.Object{}, false
	}
	object := inventory.Object{
		Kind: kindAddress, ID: address.ID, Name: address.Name,
		Mark:   markOf(address.Cluster, address.Tags),
		Owners: ownersOf(name, address.Tags),
		Fields: []inventory.Field{{Name: "ip", Value: address.IP}},
	}
	if address.LoadBalancer != "" {
		object.UsedBy = []string{address.LoadBalancer}
	}
	return object, true
}

func markOf(cluster string, tags map[string]string) inventory.Mark {
	return inventory.Mark{Cluster: cluster, UID: tags[TagClusterUID]}
}

// ownersOf returns the Service of an object that belongs to a load balancer of that name. The name contains the end of
// the Service's UID; the tag has its namespace and name.
func ownersOf(loadBalancer string, tags map[string]string) []inventory.Owner {
	namespace, name, ok := strings.Cut(tags[TagService], "/")
	if !ok {
		return nil
	}
	owner := inventory.Owner{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	if strings.HasPrefix(loadBalancer, namePrefix) && len(loadBalancer) > uidLength {
		owner.LoadBalancer, owner.UID = loadBalancer, loadBalancer[len(loadBalancer)-uidLength:]
	}
	return []inventory.Owner{owner}
}
