package vsphere_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/client"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim/nsxt"
)

// takeOver creates what the vSphere cloud controller manager leaves: objects with random IDs and its tags.
func takeOver() *conformance.TakeOver { return takeOverOf(conformance.ClusterName) }

// takeOverOf is takeOver in a cluster of that name.
func takeOverOf(cluster string) *conformance.TakeOver {
	return &conformance.TakeOver{
		Create: func(ctx context.Context, w conformance.World, svc *v1.Service,
			nodes []*v1.Node) (conformance.ServiceUpdate, error) {
			p, err := client.NewPolicy(client.PolicyOptions{
				NSX:       config.NSX{Host: "vcenter-0.test", User: nsxt.User, Password: nsxt.Password},
				Transport: w.Front().Direct(),
			})
			if err != nil {
				return conformance.ServiceUpdate{}, err
			}
			o := otherManager{ctx: ctx, policy: p, svc: svc, cluster: cluster}
			ip := o.create(nodes)
			return conformance.ServiceUpdate{Status: v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: ip}}}}, o.err
		},
	}
}

// otherManager creates objects as the vSphere cloud controller manager does. After an error it does nothing.
type otherManager struct {
	ctx     context.Context
	policy  *client.Policy
	svc     *v1.Service
	cluster string
	err     error
}

type document map[string]any

// put creates an object with a random ID and returns its path.
func (o *otherManager) put(collection string, d document, tags ...string) string {
	path := collection + "/" + uuid.NewString()
	list := []any{document{"scope": "cluster", "tag": o.cluster},
		document{"scope": "owner", "tag": "vsphere-cloud-controller-manager"}}
	for i := 0; i+1 < len(tags); i += 2 {
		list = append(list, document{"scope": tags[i], "tag": tags[i+1]})
	}
	d["tags"] = list
	content, err := json.Marshal(d)
	if o.err == nil && err == nil {
		_, err = o.policy.Put(o.ctx, path, content)
	}
	if o.err == nil {
		o.err = err
	}
	return path
}

// service returns the load balancer service of the gateway, and creates it if there is none.
func (o *otherManager) service() string {
	all, err := o.policy.List(o.ctx, "/infra/lb-services")
	if err != nil || len(all) == 0 {
		return o.put("/infra/lb-services", document{"display_name": "cluster:" + o.cluster, "size": "LARGE", "enabled": true,
			"connectivity_path": nsxt.Tier1})
	}
	var one struct{ Path string }
	o.err = json.Unmarshal(all[0], &one)
	return one.Path
}

func (o *otherManager) create(nodes []*v1.Node) string {
	name := o.svc.Namespace + "/" + o.svc.Name
	display := fmt.Sprintf("cluster:%s:%s", o.cluster, name)
	service := o.service()
	allocation := o.put("/infra/ip-pools/"+nsxt.PublicPool+"/ip-allocations", document{}, "service", name)
	ip := ""
	err := wait.PollUntilContextCancel(o.ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		var err error
		ip, err = o.policy.AllocatedAddress(ctx, allocation, "")
		return ip != "" || o.err != nil, err
	})
	if o.err == nil {
		o.err = err
	}
	members := []any{}
	for _, node := range nodes {
		for _, a := range node.Status.Addresses {
			if a.Type == v1.NodeInternalIP {
				members = append(members, document{"ip_address": a.Address, "admin_state": "ENABLED",
					"display_name": o.cluster + ":" + node.Name})
			}
		}
	}
	for _, p := range o.svc.Spec.Ports {
		port := fmt.Sprintf("%s/%d", p.Protocol, p.Port)
		monitor := o.put("/infra/lb-monitor-profiles", document{"resource_type": "LBTcpMonitorProfile",
			"display_name": fmt.Sprintf("%s:%d", display, p.NodePort), "monitor_port": p.NodePort}, "service", name, "port", port)
		pool := o.put("/infra/lb-pools", document{"display_name": display, "members": members,
			"active_monitor_paths": []string{monitor}, "snat_translation": document{"type": "LBSnatAutoMap"}},
			"service", name, "port", port)
		o.put("/infra/lb-virtual-servers", document{"display_name": display, "enabled": true, "ip_address": ip,
			"ports": []string{fmt.Sprint(p.Port)}, "default_pool_member_ports": []string{fmt.Sprint(p.NodePort)},
			"application_profile_path": "/infra/lb-app-profiles/default-tcp-lb-app-profile", "pool_path": pool,
			"lb_service_path": service}, "service", name, "port", port, "ippoolid", nsxt.PublicPool, "lbclass", "default")
	}
	return ip
}

// The vSphere cloud controller manager finds an application profile by its name among those of the protocol, and an
// empty class is the default one.
func TestNamesAndClassesOfOtherManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		const profiles = "/infra/lb-app-profiles/"
		for id, kind := range map[string]string{"t": "LBFastTcpProfile", "u": "LBFastUdpProfile", "h": "LBHttpProfile"} {
			console(t, w, http.MethodPut, profiles+id, document{"resource_type": kind, "display_name": "corporate"})
		}
		c := joinCluster(t, w, "cluster").reconfigured(t, w, func(lines string) string {
			return strings.Replace(lines, "size = LARGE",
				"size = LARGE\ntcp-app-profile-name = corporate\nudp-app-profile-name = corporate", 1)
		})
		for _, class := range []string{"", "  ", " default "} {
			svc := webService("uid", 80, 53)
			svc.Spec.Ports[1].Protocol = v1.ProtocolUDP
			svc.Annotations = map[string]string{names.ClassAnnotation: class}
			if err := c.ensure(t, svc); err != nil {
				t.Fatalf("class %q: %v", class, err)
			}
		}
		want := map[string]string{"TCP": profiles + "t", "UDP": profiles + "u"}
		for _, server := range objectsOf(t, w, serversPath) {
			protocol := "UDP"
			if fmt.Sprint(server["ports"]) == "[80]" {
				protocol = "TCP"
			}
			if have := server["application_profile_path"]; have != want[protocol] {
				t.Errorf("%s: profile %v", protocol, have)
			}
		}
	})
}

// A name of a profile that NSX-T does not have affects only the Services that need it.
func TestProfileOfOtherProtocolIsNotNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNSXT(t)
		c := joinCluster(t, w, "cluster").reconfigured(t, w, func(lines string) string {
			return strings.Replace(lines, "size = LARGE", "size = LARGE\nudp-app-profile-name = none", 1)
		})
		svc := webService("uid", 80, 53)
		svc.Spec.Ports = svc.Spec.Ports[:1]
		if err := c.ensure(t, svc); err != nil {
			t.Error(err)
		}
		svc.Spec.Ports = webService("uid", 80, 53).Spec.Ports
		svc.Spec.Ports[1].Protocol = v1.ProtocolUDP
		if err := c.ensure(t, svc); err == nil || !strings.Contains(err.Error(), "udp-app-profile-name") {
			t.Errorf("error %v", err)
		}
	})
}
