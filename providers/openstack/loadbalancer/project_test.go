package loadbalancer

import (
	"context"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// The token of an administrator is not limited to its project: lists select the project.
func TestListsOfAdministratorHaveOneProject(t *testing.T) {
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true, CreateMonitor: true}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		admin := newAPI(r.t, r.sim, r.sim.Administrator())
		lists := map[string]func(context.Context) (int, error){
			"load balancers":  count(admin.ListLoadBalancers),
			"listeners":       count(func(ctx context.Context) ([]api.Listener, error) { return admin.ListListeners(ctx, "") }),
			"pools":           count(func(ctx context.Context) ([]api.Pool, error) { return admin.ListPools(ctx, "") }),
			"health monitors": count(admin.ListHealthMonitors),
			"floating IPs":    count(func(ctx context.Context) ([]api.FloatingIP, error) { return admin.ListFloatingIPs(ctx, "") }),
			"ports": count(func(ctx context.Context) ([]api.Port, error) {
				return admin.ListPorts(ctx, api.PortFilter{})
			}),
			"ports by address": count(func(ctx context.Context) ([]api.Port, error) {
				return admin.ListPorts(ctx, api.PortFilter{Addresses: []string{model.NodeAddress(r.nodes[0], v1.IPv4Protocol)}})
			}),
			"ports by owner": count(func(ctx context.Context) ([]api.Port, error) {
				return admin.ListPorts(ctx, api.PortFilter{DeviceOwner: "Octavia"})
			}),
			"security groups": count(func(ctx context.Context) ([]api.SecurityGroup, error) {
				list, err := admin.ListSecurityGroups(ctx, "")
				for _, g := range list {
					if g.Name != "default" {
						return list, err
					}
				}
				return nil, err
			}),
		}
		for kind, list := range lists {
			if n, err := list(r.t.Context()); n != 0 || err != nil {
				r.t.Errorf("the administrator lists %d %s of another project, error %v", n, kind, err)
			}
		}
		made, err := admin.CreateLoadBalancer(r.t.Context(),
			loadbalancers.CreateOpts{Name: "theirs", VipSubnetID: r.sim.Places().PublicSubnet})
		if err != nil {
			r.t.Fatal(err)
		}
		if n, err := lists["load balancers"](r.t.Context()); n != 1 || err != nil {
			r.t.Errorf("the administrator lists %d load balancers of its own project, error %v", n, err)
		}
		// What is named by its ID, or by that of a server, is read in every project.
		if _, err := admin.GetLoadBalancer(r.t.Context(), r.made().ID); err != nil {
			r.t.Error(err)
		}
		ports, err := admin.ListPorts(r.t.Context(), api.PortFilter{DeviceIDs: []string{r.sim.Server("node-0")}})
		if len(ports) != 1 || err != nil {
			r.t.Errorf("the administrator lists %d ports of a node, error %v", len(ports), err)
		}
		if err := admin.DeleteLoadBalancer(r.t.Context(), made.ID, true); err != nil {
			r.t.Fatal(err)
		}
		r.remove(svc)
	})
}

func count[T any](list func(context.Context) ([]T, error)) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		found, err := list(ctx)
		return len(found), err
	}
}
