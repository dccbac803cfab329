package loadbalancer

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// hasty is a cloud in which another client deletes a rule just before the manager does.
type hasty struct {
	API
	done bool
}

func (h *hasty) DeleteSecurityGroupRule(ctx context.Context, id string) error {
	if !h.done {
		h.done = true
		if err := h.API.DeleteSecurityGroupRule(ctx, id); err != nil {
			return err
		}
	}
	return h.API.DeleteSecurityGroupRule(ctx, id)
}

// A rule that is not wanted any more and that another client has deleted meanwhile is as good as deleted:
// what comes after it is done too. Today's manager stops there, and says that all went well.
func TestDeletedSecurityGroupRuleIsIgnored(t *testing.T) {
	bubble(t, sim.Options{}, Settings{ManageSecurityGroups: true}, func(r *rig) {
		svc := service()
		r.ensure(svc)
		svc.Spec.Ports[0].NodePort, svc.Spec.Ports[1].NodePort = 31080, 31443
		r.launch("node-9")
		r.cloud.applier.API = &hasty{API: r.cloud.applier.API}
		r.sim.Front().Log().Reset()
		r.ensure(svc)
		var answers []int
		for _, call := range r.sim.Front().Log().Calls() {
			if call.Name == "DeleteSecurityGroupRule" {
				answers = append(answers, call.Status)
			}
		}
		if !slices.Equal(answers, []int{http.StatusNoContent, http.StatusNotFound, http.StatusNoContent}) {
			r.t.Errorf("the rules' deletions were answered %v, want the manager's first with 404 and its second with 204", answers)
		}
		if rules := r.ingressRules(); len(rules) != 2 || !slices.Contains(rules, "IPv4 tcp 31080-31080 from 10.0.0.0/16") || !slices.Contains(rules, "IPv4 tcp 31443-31443 from 10.0.0.0/16") {
			r.t.Errorf("rules %q", rules)
		}
		ports, err := r.api.ListPorts(r.t.Context(), api.PortFilter{DeviceIDs: []string{r.sim.Server("node-9")}})
		if err != nil || len(ports) != 1 || len(ports[0].SecurityGroups) != 2 {
			r.t.Errorf("the port of the new node is %+v, %v, want two groups", ports, err)
		}
		r.steady(svc)
		r.remove(svc)
		r.nothing()
	})
}

// A node that joins while its Service is invalid becomes a member, and its port gets the Service's group: without it the
// node receives no traffic.
func TestNodeThatJoinsInvalidServiceGetsGroup(t *testing.T) {
	for _, driver := range []string{"amphora", model.ProviderOVN} {
		t.Run(driver, func(t *testing.T) {
			bubble(t, sim.Options{}, Settings{Provider: driver, ManageSecurityGroups: true}, func(r *rig) {
				svc := service()
				svc.Status.LoadBalancer = *r.ensure(svc)
				svc.Annotations[intent.KeyScheme] = "neither"
				groups := func(node string) int {
					ports, err := r.api.ListPorts(r.t.Context(), api.PortFilter{DeviceIDs: []string{r.sim.Server(node)}})
					if err != nil || len(ports) != 1 {
						r.t.Fatalf("ports of %s: %+v, %v", node, ports, err)
					}
					return len(ports[0].SecurityGroups)
				}
				for name, sync := range map[string]func(){
					"updated": func() { r.update(svc) },
					"synced":  func() { r.ensureError(svc, "neither") },
				} {
					r.launch(name)
					r.restart()
					sync()
					if members := r.membersAt(80); len(members) != len(r.nodes) {
						t.Errorf("%d members after %s joined, want %d", len(members), name, len(r.nodes))
					}
					if n := groups(name); n != 2 {
						t.Errorf("the port of %s has %d groups, want its own and the Service's", name, n)
					}
				}
				r.sim.Front().Log().Reset()
				r.restart()
				r.update(svc)
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("changes where there are none to make: %v", m)
				}
				delete(svc.Annotations, intent.KeyScheme)
				r.ensure(svc)
				r.steady(svc)
				r.remove(svc)
				r.nothing()
			})
		})
	}
}
