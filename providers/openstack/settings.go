package openstack

import (
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer"
)

// loadBalancerSettings converts the sections [LoadBalancer] and [LoadBalancerClass].
func loadBalancerSettings(c config.Config) loadbalancer.Settings {
	lb := c.LoadBalancer
	s := loadbalancer.Settings{
		Provider: lb.Provider, Method: lb.Method,
		Place: loadbalancer.Place{
			FloatingNetworkID: lb.FloatingNetworkID, FloatingSubnetID: lb.FloatingSubnetID,
			FloatingSubnet: lb.FloatingSubnet, FloatingSubnetTags: lb.FloatingSubnetTags,
			SubnetID: lb.SubnetID, NetworkID: lb.NetworkID, MemberSubnetID: lb.MemberSubnetID,
		},
		Classes:  map[string]loadbalancer.Place{},
		Internal: lb.Internal, ManageSecurityGroups: lb.ManageSecurityGroups,
		CreateMonitor: lb.CreateMonitor, MonitorDelay: lb.MonitorDelay.Duration, MonitorTimeout: lb.MonitorTimeout.Duration,
		MonitorMaxRetries:   int(lb.MonitorMaxRetries),
		MonitorMaxRetryDown: int(lb.MonitorMaxRetriesDown),
		NodeSelector:        lb.NodeSelector, NoCascade: !lb.CascadeDelete,
		FlavorID: lb.FlavorID, AvailabilityZone: lb.AvailabilityZone,
		IngressHostname: lb.EnableIngressHostname, IngressHostnameSuffix: lb.IngressHostnameSuffix,
		TLSContainer: lb.TLSContainerRef, ContainerStore: lb.ContainerStore,
		MaxShared: ptr.To(lb.MaxSharedLB), Serial: lb.SerialAPICalls,
	}
	for name, class := range c.LoadBalancerClass {
		s.Classes[name] = loadbalancer.Place{
			FloatingNetworkID: class.FloatingNetworkID, FloatingSubnetID: class.FloatingSubnetID,
			FloatingSubnet: class.FloatingSubnet, FloatingSubnetTags: class.FloatingSubnetTags,
			SubnetID: class.SubnetID, NetworkID: class.NetworkID, MemberSubnetID: class.MemberSubnetID,
		}
	}
	return s
}
