package ec2

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
)

// Operations returns the operations of EC2.
func Operations() []core.Operation[*Tx] {
	return slices.Concat(instanceOperations(), networkOperations(), routeOperations(), securityGroupOperations(),
		interfaceOperations(), addressOperations(), tagOperations())
}

func addressOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("DescribeAddresses", (*Tx).describeAddresses),
		core.Write("AllocateAddress", (*Tx).allocateAddress),
		core.Write("ReleaseAddress", (*Tx).releaseAddress),
	}
}

func instanceOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("DescribeInstances", (*Tx).describeInstances),
		core.Read("DescribeInstanceStatus", (*Tx).describeInstanceStatus),
		core.Read("DescribeInstanceTopology", (*Tx).describeTopology),
		core.Write("ModifyInstanceAttribute", (*Tx).modifyInstanceAttribute),
		core.Write("RunInstances", (*Tx).runInstances),
		core.Write("StartInstances", setStates(StateRunning)),
		core.Write("StopInstances", setStates(StateStopped)),
		core.Write("TerminateInstances", setStates(StateTerminated)),
	}
}

func interfaceOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Describe("DescribeNetworkInterfaces", func(t *Tx) core.Description[*NetworkInterface, interfaceView] {
			return core.Description[*NetworkInterface, interfaceView]{
				Kind: interfaceKind, All: t.Interfaces, View: t.viewInterface,
			}
		}, "IncludeManagedResources"),
		core.Write("AssignIpv6Addresses", (*Tx).assignIPv6),
		core.Write("ModifyNetworkInterfaceAttribute", (*Tx).modifyInterface),
		core.Write("UnassignIpv6Addresses", (*Tx).unassignIPv6),
	}
}

func networkOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Describe("DescribeVpcs", func(t *Tx) core.Description[*VPC, vpcView] {
			return core.Description[*VPC, vpcView]{Kind: vpcKind, All: t.VPCs, View: t.viewVPC}
		}),
		core.Describe("DescribeSubnets", func(t *Tx) core.Description[*Subnet, subnetView] {
			return core.Description[*Subnet, subnetView]{Kind: subnetKind, All: t.Subnets, View: t.viewSubnet}
		}),
		core.Read("DescribeAvailabilityZones", (*Tx).describeZones),
		core.Read("DescribeRegions", (*Tx).describeRegions),
	}
}

func routeOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Describe("DescribeRouteTables", func(t *Tx) core.Description[*RouteTable, tableView] {
			return core.Description[*RouteTable, tableView]{
				Kind: tableKind, All: t.Tables, View: t.viewTable, Rule: core.PageRule{Min: 5, Max: 100},
			}
		}),
		core.Write("CreateRoute", (*Tx).createRoute),
		core.Write("ReplaceRoute", (*Tx).replaceRoute),
		core.Write("DeleteRoute", (*Tx).deleteRoute),
	}
}

func tagOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Write("CreateTags", (*Tx).createTags),
		core.Write("DeleteTags", (*Tx).deleteTags),
		core.Read("DescribeTags", (*Tx).describeTags),
	}
}

func securityGroupOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Read("DescribeSecurityGroups", (*Tx).describeGroups),
		core.Describe("DescribeSecurityGroupRules", (*Tx).rules),
		core.Write("CreateSecurityGroup", (*Tx).createGroup),
		core.Write("DeleteSecurityGroup", (*Tx).deleteGroup),
		core.Write("AuthorizeSecurityGroupIngress", inDirection((*Tx).authorizeRules, false)),
		core.Write("RevokeSecurityGroupIngress", inDirection((*Tx).revokeRules, false)),
		core.Write("AuthorizeSecurityGroupEgress", inDirection((*Tx).authorizeRules, true)),
		core.Write("RevokeSecurityGroupEgress", inDirection((*Tx).revokeRules, true)),
	}
}
