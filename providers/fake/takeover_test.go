package fake_test

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/client"
)

// takeOver prepares a simulated cloud for a take-over. No other manager exists for this cloud. A manager that uses the
// same names and writes no tags stands for one: what it leaves is recognised by its name and its cluster alone.
func takeOver() *conformance.TakeOver {
	return &conformance.TakeOver{
		Create: func(ctx context.Context, w conformance.World, svc *v1.Service,
			nodes []*v1.Node) (conformance.ServiceUpdate, error) {
			c, err := client.New(client.Options{Transport: w.Front().Direct()})
			if err != nil {
				return conformance.ServiceUpdate{}, err
			}
			return leave(ctx, c, svc, nodes)
		},
	}
}

// leave creates a load balancer with its address, pools and listeners.
func leave(ctx context.Context, c api.API, svc *v1.Service,
	nodes []*v1.Node) (conformance.ServiceUpdate, error) {
	uid := strings.ReplaceAll(string(svc.UID), "-", "")
	name := fmt.Sprintf("k8s-%s-%s-%s", svc.Namespace, svc.Name, uid[len(uid)-8:])
	address, err := c.AllocateAddress(ctx, api.AddressSpec{Name: name + "-ipv4", Family: string(v1.IPv4Protocol),
		Cluster: conformance.ClusterName})
	if err != nil {
		return conformance.ServiceUpdate{}, err
	}
	lb, err := c.CreateLoadBalancer(ctx, api.LoadBalancerSpec{Name: name, Cluster: conformance.ClusterName,
		Scheme: "public", Families: []string{string(v1.IPv4Protocol)}, AddressIDs: []string{address.ID}})
	if err != nil {
		return conformance.ServiceUpdate{}, err
	}
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		list, err := c.ListLoadBalancers(ctx, conformance.ClusterName, name)
		return len(list) == 1 && list[0].State == api.LBActive, err
	})
	if err != nil {
		return conformance.ServiceUpdate{}, err
	}
	for _, p := range svc.Spec.Ports {
		port := strings.ToLower(fmt.Sprintf("%s-%d", p.Protocol, p.Port))
		pool := api.Pool{Name: port, Protocol: string(p.Protocol), HealthCheck: api.HealthCheck{Protocol: "TCP",
			IntervalSeconds: 10, TimeoutSeconds: 5, HealthyThreshold: 2, UnhealthyThreshold: 3}}
		for _, n := range nodes {
			pool.Members = append(pool.Members, api.Member{InstanceID: path.Base(n.Spec.ProviderID), Port: p.NodePort})
		}
		_, poolErr := c.CreatePool(ctx, lb.ID, pool)
		_, listenerErr := c.CreateListener(ctx, lb.ID, api.Listener{Name: port, Protocol: string(p.Protocol),
			Port: p.Port, Pool: port})
		if err := cmp.Or(poolErr, listenerErr); err != nil {
			return conformance.ServiceUpdate{}, err
		}
	}
	return conformance.ServiceUpdate{Status: v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: address.IP}}}}, nil
}
