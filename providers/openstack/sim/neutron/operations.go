package neutron

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// Operations returns the operations of Neutron.
func Operations() []core.Operation[*Tx] {
	return slices.Concat(networkOperations(), portOperations(), routerOperations(), floatingIPOperations(),
		securityGroupOperations(), tagOperations())
}

func floatingIPOperations() []core.Operation[*Tx] {
	r := newResource("FloatingIP", "floatingip", "floatingips",
		func(t *Tx) map[string]*FloatingIP { return t.Addresses }, (*Tx).floatingIP)
	return r.Operations(
		core.Create("CreateFloatingIP", "floatingips", (*Tx).createFloatingIP),
		update(r, (*Tx).updateFloatingIP),
		remove(r, func(t *Tx, f *FloatingIP) error {
			if err := f.checkForwardings(); err != nil {
				return err
			}
			t.releaseFloatingIP(f)
			return nil
		}),
	)
}

func networkOperations() []core.Operation[*Tx] {
	networks := core.Resource[*Tx, *Network]{
		Name: "Network", Key: "network", Path: "networks",
		List: func(t *Tx) ([]*Network, error) { return core.Only(core.ByID(t.Networks), t.SeesNetwork), nil },
		Get:  func(t *Tx) (*Network, error) { return t.network(t.Call.Params["id"]) },
	}
	subnets := core.Resource[*Tx, *Subnet]{
		Name: "Subnet", Key: "subnet", Path: "subnets",
		List: func(t *Tx) ([]*Subnet, error) { return core.Only(core.ByID(t.Subnets), t.seesSubnet), nil },
		Get:  func(t *Tx) (*Subnet, error) { return t.Subnet(t.Call.Params["id"]) },
	}
	return append(networks.Operations(subnets.Operations()...),
		core.Read("ListExtensions", "extensions", (*Tx).listExtensions),
		core.Read("ShowExtension", "extensions/{id}", (*Tx).showExtension),
		core.Read("ShowQuota", "quotas/{id}", (*Tx).showNetworkQuota),
	)
}

func portOperations() []core.Operation[*Tx] {
	r := newResource("Port", "port", "ports", func(t *Tx) map[string]*Port { return t.Ports }, (*Tx).port)
	r.Filters = map[string]core.Filter[*Port]{"fixed_ips": matchesFixedIPs}
	return r.Operations(
		core.Create("CreatePort", "ports", (*Tx).createPort),
		update(r, (*Tx).updatePort),
		remove(r, func(t *Tx, p *Port) error {
			if strings.HasPrefix(p.DeviceOwner, "network:router") {
				return conflict("ServicePortInUse", "Port %s cannot be deleted directly via the port API: has device owner %s.",
					p.ID, p.DeviceOwner)
			}
			t.RemovePort(p)
			return nil
		}),
	)
}

func routerOperations() []core.Operation[*Tx] {
	r := newResource("Router", "router", "routers", func(t *Tx) map[string]*Router { return t.Routers }, (*Tx).router)
	return r.Operations(
		update(r, (*Tx).updateRouter),
		extraRoutes(r, "add", func(current, added []Route) []Route {
			for _, r := range added {
				if !slices.Contains(current, r) {
					current = append(current, r)
				}
			}
			return current
		}),
		extraRoutes(r, "remove", func(current, removed []Route) []Route {
			return core.Only(current, func(r Route) bool { return !slices.Contains(removed, r) })
		}),
	)
}

func securityGroupOperations() []core.Operation[*Tx] {
	groups := newResource("SecurityGroup", "security_group", "security-groups",
		func(t *Tx) map[string]*SecurityGroup { return t.Groups }, (*Tx).group)
	rules := newResource("SecurityGroupRule", "security_group_rule", "security-group-rules",
		func(t *Tx) map[string]*securityRule { return t.Rules }, (*Tx).ruleByID)
	return append(groups.Operations(
		core.Create("CreateSecurityGroup", groups.Path, (*Tx).createGroup),
		update(groups, func(t *Tx, g *SecurityGroup, in groupInput) error {
			in.Stateful = nil
			core.Assign(g, in)
			t.MarkUpdated(&g.Base)
			return nil
		}),
		remove(groups, (*Tx).deleteGroup),
	), rules.Operations(
		core.Create("CreateSecurityGroupRule", rules.Path, (*Tx).createRules),
		remove(rules, func(t *Tx, r *securityRule) error { t.removeRule(r); return nil }),
	)...)
}

func tagOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("ListTags", "{kind}/{id}/tags", func(t *Tx) (any, error) {
			n, err := t.taggable()
			if err != nil {
				return nil, err
			}
			return map[string]any{"tags": n.Tags}, nil
		}),
		core.Change("ReplaceTags", "{kind}/{id}/tags", (*Tx).replaceTags),
		core.Write("AddTag", http.MethodPut, "{kind}/{id}/tags/{tag}", http.StatusCreated, func(t *Tx) (any, error) {
			n, err := t.taggable()
			if err != nil {
				return nil, err
			}
			if tag := t.Call.Params["tag"]; !slices.Contains(n.Tags, tag) {
				if err := checkTags([]string{tag}); err != nil {
					return nil, err
				}
				n.Tags = append(n.Tags, tag)
				slices.Sort(n.Tags)
				t.MarkUpdated(n)
			}
			return json.RawMessage("null"), nil
		}),
		core.Remove("RemoveTag", "{kind}/{id}/tags/{tag}", func(t *Tx) error {
			n, err := t.taggable()
			if err != nil {
				return err
			}
			i := slices.Index(n.Tags, t.Call.Params["tag"])
			if i < 0 {
				return core.Refuse(http.StatusNotFound, "TagNotFound", "Tag %s could not be found.", t.Call.Params["tag"])
			}
			n.Tags = slices.Delete(n.Tags, i, i+1)
			t.MarkUpdated(n)
			return nil
		}),
		core.Remove("RemoveAllTags", "{kind}/{id}/tags", func(t *Tx) error {
			n, err := t.taggable()
			if err != nil {
				return err
			}
			n.Tags = []string{}
			t.MarkUpdated(n)
			return nil
		}),
	}
}
