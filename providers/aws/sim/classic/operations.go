package classic

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
)

// Operations returns the operations of the first generation of Elastic Load Balancing.
func Operations() []core.Operation[*Tx] {
	return slices.Concat(balancerOperations(), listenerOperations(), policyOperations(), instanceOperations())
}

func balancerOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("DescribeLoadBalancers", (*Tx).describeBalancers),
		core.Write("CreateLoadBalancer", (*Tx).createBalancer),
		core.Write("DeleteLoadBalancer", (*Tx).deleteBalancer),
		core.Write("ApplySecurityGroupsToLoadBalancer", core.On((*Tx).applyGroups)),
		core.Write("AttachLoadBalancerToSubnets", core.On((*Tx).attachSubnets)),
		core.Write("DetachLoadBalancerFromSubnets", core.On((*Tx).detachSubnets)),
		core.Write("ConfigureHealthCheck", core.On((*Tx).configureCheck)),
		core.Read("DescribeLoadBalancerAttributes", core.On((*Tx).describeAttributes)),
		core.Write("ModifyLoadBalancerAttributes", core.On((*Tx).modifyAttributes)),
		core.Read("DescribeTags", (*Tx).describeTags),
		core.Write("AddTags", (*Tx).addTags),
		core.Write("RemoveTags", (*Tx).removeTags),
	}
}

func instanceOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Write("RegisterInstancesWithLoadBalancer", core.On((*Tx).registerInstances)),
		core.Write("DeregisterInstancesFromLoadBalancer", core.On((*Tx).deregisterInstances)),
		core.Read("DescribeInstanceHealth", core.On((*Tx).describeHealth)),
	}
}

func listenerOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Write("CreateLoadBalancerListeners", core.On((*Tx).createListeners)),
		core.Write("DeleteLoadBalancerListeners", core.On((*Tx).deleteListeners)),
		core.Write("SetLoadBalancerListenerSSLCertificate", core.On((*Tx).setCertificate)),
	}
}

func policyOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("DescribeLoadBalancerPolicies", (*Tx).describePolicies),
		core.Write("CreateLoadBalancerPolicy", core.On((*Tx).createPolicy)),
		core.Write("DeleteLoadBalancerPolicy", core.On((*Tx).deletePolicy)),
		core.Write("SetLoadBalancerPoliciesForBackendServer", core.On((*Tx).setBackendPolicies)),
		core.Write("SetLoadBalancerPoliciesOfListener", core.On((*Tx).setListenerPolicies)),
	}
}
