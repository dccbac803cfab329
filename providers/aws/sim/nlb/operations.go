package nlb

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
)

// Operations returns the operations of the second generation of Elastic Load Balancing.
func Operations() []core.Operation[*Tx] {
	return slices.Concat(balancerOperations(), listenerOperations(), targetGroupOperations(), targetOperations(),
		tagOperations())
}

func balancerOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("DescribeLoadBalancers", (*Tx).describeBalancers),
		core.Write("CreateLoadBalancer", (*Tx).createBalancer),
		core.Write("DeleteLoadBalancer", (*Tx).deleteBalancer),
		core.Write("SetSecurityGroups", core.On((*Tx).setSecurityGroups)),
		core.Write("SetSubnets", core.On((*Tx).setSubnets)),
		core.Write("SetIpAddressType", core.On((*Tx).setAddressType)),
		core.Read("DescribeLoadBalancerAttributes", core.On((*Tx).describeBalancerAttributes)),
		core.Write("ModifyLoadBalancerAttributes", core.On((*Tx).modifyBalancerAttributes)),
	}
}

func listenerOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("DescribeListeners", (*Tx).describeListeners),
		core.Write("CreateListener", (*Tx).createListener),
		core.Write("ModifyListener", core.On((*Tx).modifyListener)),
		core.Write("DeleteListener", core.On((*Tx).deleteListener)),
		core.Read("DescribeListenerAttributes", core.On((*Tx).describeListenerAttributes)),
		core.Write("ModifyListenerAttributes", core.On((*Tx).modifyListenerAttributes)),
		core.Read("DescribeListenerCertificates", core.On((*Tx).describeCertificates)),
		core.Write("AddListenerCertificates", core.On((*Tx).addCertificates)),
		core.Write("RemoveListenerCertificates", core.On((*Tx).removeCertificates)),
	}
}

func tagOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("DescribeTags", (*Tx).describeTags),
		core.Write("AddTags", (*Tx).addTags),
		core.Write("RemoveTags", (*Tx).removeTags),
	}
}

func targetGroupOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("DescribeTargetGroups", (*Tx).describeTargetGroups),
		core.Write("CreateTargetGroup", (*Tx).createTargetGroup),
		core.Write("ModifyTargetGroup", core.On((*Tx).modifyTargetGroup)),
		core.Write("DeleteTargetGroup", (*Tx).deleteTargetGroup),
		core.Read("DescribeTargetGroupAttributes", core.On((*Tx).describeGroupAttributes)),
		core.Write("ModifyTargetGroupAttributes", core.On((*Tx).modifyGroupAttributes)),
	}
}

func targetOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("DescribeTargetHealth", core.On((*Tx).describeTargetHealth)),
		core.Write("RegisterTargets", core.On((*Tx).registerTargets)),
		core.Write("DeregisterTargets", core.On((*Tx).deregisterTargets)),
	}
}
