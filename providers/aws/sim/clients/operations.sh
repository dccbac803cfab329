#!/usr/bin/env bash
# Checks that each operation was called and succeeded at least once, by the tables that simulators print in the
# end, in WORK/*/log. The list is what cloud controller managers for AWS call, or may want to; an operation that
# the command line is too old for is marked with a question mark.
set -euo pipefail
work=$1

operations() {
	cat <<-'LIST'
		ec2 AllocateAddress AssignIpv6Addresses AuthorizeSecurityGroupIngress CreateRoute CreateSecurityGroup CreateTags DeleteRoute
		ec2 DeleteSecurityGroup DeleteTags DescribeAddresses DescribeAvailabilityZones DescribeInstanceStatus DescribeInstanceTopology?
		ec2 DescribeInstances DescribeNetworkInterfaces DescribeRouteTables DescribeSecurityGroupRules DescribeSecurityGroups DescribeSubnets
		ec2 DescribeTags DescribeVpcs ModifyInstanceAttribute ReleaseAddress ReplaceRoute RevokeSecurityGroupIngress RunInstances
		ec2 ModifyNetworkInterfaceAttribute? StartInstances StopInstances TerminateInstances UnassignIpv6Addresses
		elb AddTags ApplySecurityGroupsToLoadBalancer AttachLoadBalancerToSubnets ConfigureHealthCheck CreateLoadBalancer
		elb CreateLoadBalancerListeners CreateLoadBalancerPolicy DeleteLoadBalancer DeleteLoadBalancerListeners DeleteLoadBalancerPolicy
		elb DeregisterInstancesFromLoadBalancer DescribeInstanceHealth DescribeLoadBalancerAttributes DescribeLoadBalancerPolicies
		elb DescribeLoadBalancers DescribeTags DetachLoadBalancerFromSubnets ModifyLoadBalancerAttributes RegisterInstancesWithLoadBalancer
		elb RemoveTags SetLoadBalancerListenerSSLCertificate SetLoadBalancerPoliciesForBackendServer SetLoadBalancerPoliciesOfListener
		elbv2 AddListenerCertificates AddTags CreateListener CreateLoadBalancer CreateTargetGroup DeleteListener DeleteLoadBalancer
		elbv2 DeleteTargetGroup DeregisterTargets DescribeListenerAttributes? DescribeListenerCertificates DescribeListeners
		elbv2 DescribeLoadBalancerAttributes DescribeLoadBalancers DescribeTags DescribeTargetGroupAttributes DescribeTargetGroups
		elbv2 DescribeTargetHealth ModifyListener ModifyListenerAttributes? ModifyLoadBalancerAttributes ModifyTargetGroup
		elbv2 ModifyTargetGroupAttributes RegisterTargets RemoveListenerCertificates RemoveTags SetIpAddressType SetSecurityGroups SetSubnets
		sts AssumeRole AssumeRoleWithWebIdentity GetCallerIdentity
		imds GetMetadata PutToken
	LIST
}

total=0 old=0 missing=0
while read -r service names; do
	for name in $names; do
		total=$((total + 1))
		# Columns: service, operation, kind, calls, failed.
		if awk -v s="$service" -v n="${name%\?}" '$1 == s && $2 == n && $4 > $5 { found = 1 } END { exit !found }' "$work"/*/log; then
			continue
		elif [[ $name == *\? ]]; then
			old=$((old + 1))
		else
			missing=$((missing + 1))
			echo "FAIL $service $name was not called with success" >&2
		fi
	done
done < <(operations)
echo "operations: $((total - old - missing)) of $total succeeded; $old are unknown to this command line, $missing are missing"
((missing == 0))
