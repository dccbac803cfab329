#!/usr/bin/env bash
# Checks that each operation was called and succeeded at least once, by the table that the simulator prints in the
# end, in the file given. The list is what cloud controller managers for OpenStack call; it lacks what the command line
# has no way to ask for: batches of members, one tag taken away, the catalogue without a token, and containers of Barbican's.
set -euo pipefail
table=$1

operations() {
	cat <<-'LIST'
		identity CreateToken
		compute ListServersDetailed ShowServer ListFlavorsDetailed ShowFlavor
		network ListExtensions ListPorts ShowPort UpdatePort ReplaceTags ListNetworks ShowNetwork ListSubnets ShowSubnet
		network ListFloatingIPs ShowFloatingIP CreateFloatingIP UpdateFloatingIP DeleteFloatingIP
		network ListSecurityGroups CreateSecurityGroup DeleteSecurityGroup ListSecurityGroupRules CreateSecurityGroupRule DeleteSecurityGroupRule
		network ShowRouter UpdateRouter AddExtraRoutes RemoveExtraRoutes
		load-balancer ListProviders ListLoadBalancers ShowLoadBalancer CreateLoadBalancer UpdateLoadBalancer DeleteLoadBalancer
		load-balancer ListListeners ShowListener CreateListener UpdateListener DeleteListener ListPools ShowPool CreatePool UpdatePool DeletePool
		load-balancer ListMembers ShowMember CreateMember UpdateMember DeleteMember
		load-balancer ShowHealthMonitor CreateHealthMonitor UpdateHealthMonitor DeleteHealthMonitor ShowLoadBalancerStatusTree
	LIST
}

total=0 missing=0
while read -r service names; do
	for name in $names; do
		total=$((total + 1))
		# Columns: service, operation, kind, calls, failed.
		if ! awk -v s="$service" -v n="$name" '$1 == s && $2 == n && $4 > $5 { found = 1 } END { exit !found }' "$table"; then
			missing=$((missing + 1))
			echo "openstack: no call of $service $name has succeeded" >&2
		fi
	done
done < <(operations)
((missing == 0)) || exit 1
echo "openstack: each of $total operations was called and has succeeded"
