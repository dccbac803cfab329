package loadbalancer

import (
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// foreignOwner describes the owner of an object that is tagged as another cluster's, and returns "" if it is ours.
// A missing UID proves nothing: objects that were created before the UID was known, or by a manager that may
// not read the namespace kube-system, have only the cluster's name.
func foreignOwner(key lbcommon.Key, cluster string, tags map[string]string) string {
	uid := tags[TagClusterUID]
	switch {
	case cluster != key.ClusterName:
		return fmt.Sprintf("cluster %q", cluster)
	case key.ClusterUID != "" && uid != "" && uid != key.ClusterUID:
		return fmt.Sprintf("another cluster of the name %q, with the UID %s", cluster, uid)
	default:
		return ""
	}
}

// foreignLoadBalancerError returns the error about a load balancer of our name that is marked as another cluster's.
func foreignLoadBalancerError(key lbcommon.Key, lb api.LoadBalancer) error {
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: key.Subject(),
		Err: fmt.Errorf("the load balancer %s (%s) belongs to %s, not to cluster %q, and is not changed: give each cluster "+
			"its own --cluster-name, or delete that load balancer",
			lb.Name, lb.ID, foreignOwner(key, lb.Cluster, lb.Tags), key.ClusterName)}
}

// foreignAddressError returns the error about an address of our name that belongs to another cluster.
func foreignAddressError(key lbcommon.Key, address api.Address, owner string) error {
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: key.Subject(),
		Err: fmt.Errorf("the address %s (%s) belongs to %s, not to cluster %q, and is not changed: give each cluster its "+
			"own --cluster-name, or release that address",
			address.Name, address.ID, owner, key.ClusterName)}
}
