#!/usr/bin/env bash
# Every operation of EC2 that a cloud controller manager calls, or may want to. Seven instances run at the start.
# shellcheck disable=SC2016 # backquotes are JMESPath's
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The network, as it is at first.
vpc=$(get ec2 describe-vpcs --query 'Vpcs[0].VpcId')
cluster=$(get ec2 describe-vpcs --query 'Vpcs[0].Tags[?Key==`Name`].Value')
ok "available 10.0.0.0/16 default" ec2 describe-vpcs --vpc-ids "$vpc" --query 'Vpcs[0].[State,CidrBlock,InstanceTenancy]'
refused InvalidVpcID.NotFound ec2 describe-vpcs --vpc-ids vpc-00000000000000000
ok "us-west-2a usw2-az1 us-west-2b usw2-az2 us-west-2c usw2-az3" ec2 describe-availability-zones --query 'AvailabilityZones[].[ZoneName,ZoneId]'
ok "available us-west-2 availability-zone" ec2 describe-availability-zones --zone-names us-west-2b --query 'AvailabilityZones[0].[State,RegionName,ZoneType]'
refused InvalidParameterValue ec2 describe-availability-zones --zone-names us-west-2z
ok "3 4091 True" ec2 describe-subnets --filters Name=tag-key,Values=kubernetes.io/role/elb "Name=vpc-id,Values=$vpc" \
	--query '[length(Subnets), Subnets[0].AvailableIpAddressCount, Subnets[0].MapPublicIpOnLaunch]'
# With text as the output, a query answers once for each page.
ok "5 1" ec2 describe-subnets --page-size 5 --query 'length(Subnets)'
refused InvalidSubnetID.NotFound ec2 describe-subnets --subnet-ids subnet-00000000000000000

# Instances.
ids=$(get ec2 describe-instances --filters "Name=tag:kubernetes.io/cluster/$cluster,Values=owned" --query 'Reservations[].Instances[].InstanceId')
read -r first second _ <<<"$ids"
ok "5 2" ec2 describe-instances --page-size 5 --query 'length(Reservations[].Instances[])'
# What the command line adds when it stops early is a page too.
ok "5 0" ec2 describe-instances --page-size 5 --max-items 5 --query 'length(Reservations || `[]`)'
ok "$first running 16 m5.large x86_64" ec2 describe-instances --instance-ids "$first" \
	--query 'Reservations[0].Instances[0].[InstanceId,State.Name,State.Code,InstanceType,Architecture]'
ok "1 0 attached in-use" ec2 describe-instances --instance-ids "$first" --query 'Reservations[0].Instances[0].NetworkInterfaces[] | [length(@),
	[0].Attachment.DeviceIndex, [0].Attachment.Status, [0].Status]'
ok "2" ec2 describe-instances --filters "Name=instance-id,Values=$first,$second,i-00000000000000000" --query 'length(Reservations[].Instances[])'
ok "0" ec2 describe-instances --filters Name=private-dns-name,Values=unknown --query 'length(Reservations)'
refused InvalidInstanceID.NotFound ec2 describe-instances --instance-ids "$first" i-00000000000000000
refused InvalidInstanceID.Malformed ec2 describe-instances --instance-ids nonsense
refused InvalidParameterValue ec2 describe-instances --filters Name=colour,Values=red
refused DryRunOperation ec2 describe-instances --dry-run
ok "running ok ok" ec2 describe-instance-status --instance-ids "$first" \
	--query 'InstanceStatuses[0].[InstanceState.Name,InstanceStatus.Status,SystemStatus.Status]'
eni=$(get ec2 describe-network-interfaces --filters "Name=attachment.instance-id,Values=$first" --query 'NetworkInterfaces[0].NetworkInterfaceId')
ok "in-use interface False True" ec2 describe-network-interfaces --network-interface-ids "$eni" \
	--query 'NetworkInterfaces[0].[Status,InterfaceType,RequesterManaged,SourceDestCheck]'
ok "5 2" ec2 describe-network-interfaces --page-size 5 --query 'length(NetworkInterfaces)'
refused InvalidNetworkInterfaceID.NotFound ec2 describe-network-interfaces --network-interface-ids eni-00000000000000000
ok "" ec2 modify-instance-attribute --instance-id "$first" --no-source-dest-check
ok "False False" ec2 describe-instances --instance-ids "$first" \
	--query 'Reservations[0].Instances[0].[SourceDestCheck,NetworkInterfaces[0].SourceDestCheck]'
refused InvalidInstanceID.NotFound ec2 modify-instance-attribute --instance-id i-00000000000000000 --no-source-dest-check

# Lifecycle of an instance of a type with a known network topology.
subnet=$(get ec2 describe-subnets --filters Name=tag-key,Values=kubernetes.io/role/elb --query 'Subnets[0].SubnetId')
launched=$(get ec2 run-instances --image-id ami-12345678 --instance-type p4d.24xlarge --count 2 --subnet-id "$subnet" --key-name key \
	--tag-specifications 'ResourceType=instance,Tags=[{Key=Name,Value=extra}]' --query 'Instances[].InstanceId')
read -r extra other <<<"$launched"
ok "" ec2 wait instance-running --instance-ids "$extra" "$other"
ok "" ec2 wait instance-status-ok --instance-ids "$extra"
ok "extra 2" ec2 describe-instances --instance-ids "$extra" "$other" --query 'Reservations[0].[Instances[0].Tags[0].Value, length(Instances)]'
ok "key True" ec2 describe-instances --instance-ids "$extra" \
	--query 'Reservations[0].Instances[0].[KeyName, starts_with(PublicDnsName, `ec2-`)]'
ok "True" ec2 describe-network-interfaces --filters "Name=attachment.instance-id,Values=$extra" --query 'NetworkInterfaces[0].Association.PublicIp != null'
if "$aws" ec2 describe-instance-topology help >/dev/null 2>&1; then
	ok "p4d.24xlarge 3" ec2 describe-instance-topology --instance-ids "$extra" --query 'Instances[0].[InstanceType,length(NetworkNodes)]'
fi
ok "$extra stopped running" ec2 stop-instances --instance-ids "$extra" --query 'StoppingInstances[0].[InstanceId,CurrentState.Name,PreviousState.Name]'
ok "" ec2 wait instance-stopped --instance-ids "$extra"
ok "$extra stopped" ec2 start-instances --instance-ids "$extra" --query 'StartingInstances[0].[InstanceId,PreviousState.Name]'
ok "2" ec2 terminate-instances --instance-ids "$extra" "$other" --query 'length(TerminatingInstances)'
ok "" ec2 wait instance-terminated --instance-ids "$extra" "$other"
refused IncorrectInstanceState ec2 start-instances --instance-ids "$extra"
refused InvalidSubnetID.NotFound ec2 run-instances --image-id ami-12345678 --count 1 --subnet-id subnet-00000000000000000

# Prefixes and addresses of IPv6.
prefix=$(get ec2 assign-ipv6-addresses --network-interface-id "$eni" --ipv6-prefix-count 1 --query 'AssignedIpv6Prefixes[0]')
ok "$prefix" ec2 describe-instances --instance-ids "$first" --query 'Reservations[0].Instances[0].NetworkInterfaces[0].Ipv6Prefixes[0].Ipv6Prefix'
ok "$prefix" ec2 unassign-ipv6-addresses --network-interface-id "$eni" --ipv6-prefixes "$prefix" --query 'UnassignedIpv6Prefixes[0]'
address=$(get ec2 assign-ipv6-addresses --network-interface-id "$eni" --ipv6-address-count 1 --query 'AssignedIpv6Addresses[0]')
if "$aws" ec2 modify-network-interface-attribute help 2>/dev/null | grep -q enable-primary-ipv6; then
	ok "" ec2 modify-network-interface-attribute --network-interface-id "$eni" --enable-primary-ipv6
fi
ok "$address" ec2 unassign-ipv6-addresses --network-interface-id "$eni" --ipv6-addresses "$address" --query 'UnassignedIpv6Addresses[0]'

# Routes.
table=$(get ec2 describe-route-tables --filters "Name=tag-key,Values=kubernetes.io/cluster/$cluster" --query 'RouteTables[0].RouteTableId')
ok "True associated" ec2 describe-route-tables --route-table-ids "$table" --query 'RouteTables[0].Associations[0].[Main,AssociationState.State]'
ok "True" ec2 create-route --route-table-id "$table" --destination-cidr-block 10.244.1.0/24 --instance-id "$first"
refused RouteAlreadyExists ec2 create-route --route-table-id "$table" --destination-cidr-block 10.244.1.0/24 --instance-id "$second"
ok "" ec2 replace-route --route-table-id "$table" --destination-cidr-block 10.244.1.0/24 --instance-id "$second"
ok "active CreateRoute $second" ec2 describe-route-tables --route-table-ids "$table" \
	--query 'RouteTables[0].Routes[?DestinationCidrBlock==`10.244.1.0/24`].[State,Origin,InstanceId]'
ok "True" ec2 create-route --route-table-id "$table" --destination-ipv6-cidr-block 2001:db8:1:2::/80 --network-interface-id "$eni"
ok "" ec2 delete-route --route-table-id "$table" --destination-cidr-block 10.244.1.0/24
ok "" ec2 delete-route --route-table-id "$table" --destination-ipv6-cidr-block 2001:db8:1:2::/80
refused InvalidRoute.NotFound ec2 delete-route --route-table-id "$table" --destination-cidr-block 10.244.1.0/24
refused InvalidRouteTableID.NotFound ec2 create-route --route-table-id rtb-00000000000000000 --destination-cidr-block 10.1.0.0/24 --instance-id "$first"

# Security groups and their rules.
group=$(get ec2 create-security-group --group-name web --description "of a load balancer" --vpc-id "$vpc" \
	--tag-specifications 'ResourceType=security-group,Tags=[{Key=k,Value=v}]' --query GroupId)
refused InvalidGroup.Duplicate ec2 create-security-group --group-name web --description x --vpc-id "$vpc"
nodes=$(get ec2 describe-security-groups --filters "Name=group-name,Values=nodes.$cluster" --query 'SecurityGroups[0].GroupId')
ok "True 80 203.0.113.0/24" ec2 authorize-security-group-ingress --group-id "$group" \
	--ip-permissions 'IpProtocol=tcp,FromPort=80,ToPort=80,IpRanges=[{CidrIp=203.0.113.0/24,Description=why}],Ipv6Ranges=[{CidrIpv6=2001:db8::/32}],PrefixListIds=[{PrefixListId=pl-12345678}]' \
	--query '[Return, SecurityGroupRules[0].FromPort, SecurityGroupRules[0].CidrIpv4]'
refused InvalidPermission.Duplicate ec2 authorize-security-group-ingress --group-id "$group" --protocol tcp --port 80 --cidr 203.0.113.0/24
refused InvalidParameterValue ec2 authorize-security-group-ingress --group-id "$group" \
	--ip-permissions 'IpProtocol=tls,FromPort=80,ToPort=80,IpRanges=[{CidrIp=203.0.113.0/24}]'
ok "True" ec2 authorize-security-group-ingress --group-id "$nodes" --ip-permissions "IpProtocol=-1,UserIdGroupPairs=[{GroupId=$group}]" --query Return
ok "web v tcp 80 80 203.0.113.0/24 why 2001:db8::/32" ec2 describe-security-groups --group-ids "$group" --query 'SecurityGroups[0].[GroupName, Tags[0].Value,
	IpPermissions[0].IpProtocol, IpPermissions[0].FromPort, IpPermissions[0].ToPort, IpPermissions[0].IpRanges[0].CidrIp,
	IpPermissions[0].IpRanges[0].Description, IpPermissions[0].Ipv6Ranges[0].CidrIpv6]'
ok "$nodes" ec2 describe-security-groups --filters "Name=ip-permission.group-id,Values=$group" --query 'SecurityGroups[].GroupId'
ok "$group" ec2 describe-security-group-rules --filters "Name=group-id,Values=$nodes" \
	--query "SecurityGroupRules[?ReferencedGroupInfo.GroupId=='$group'].ReferencedGroupInfo.GroupId"
ok "4 False" ec2 describe-security-group-rules --filters "Name=group-id,Values=$group" --query '[length(SecurityGroupRules),
	SecurityGroupRules[?FromPort==`80`].IsEgress | [0]]'
refused DependencyViolation ec2 delete-security-group --group-id "$group"
ok "True" ec2 revoke-security-group-ingress --group-id "$nodes" --ip-permissions "IpProtocol=-1,UserIdGroupPairs=[{GroupId=$group}]" --query Return
refused InvalidPermission.NotFound ec2 revoke-security-group-ingress --group-id "$group" --protocol tcp --port 81 --cidr 203.0.113.0/24
ok "True" ec2 revoke-security-group-ingress --group-id "$group" --protocol tcp --port 80 --cidr 203.0.113.0/24 --query Return
ok "True" ec2 authorize-security-group-egress --group-id "$group" --ip-permissions 'IpProtocol=udp,FromPort=53,ToPort=53,IpRanges=[{CidrIp=10.0.0.0/8}]' --query Return
ok "True" ec2 revoke-security-group-egress --group-id "$group" --ip-permissions 'IpProtocol=udp,FromPort=53,ToPort=53,IpRanges=[{CidrIp=10.0.0.0/8}]' --query Return
ok "" ec2 wait security-group-exists --group-ids "$group"

# Tags.
ok "" ec2 create-tags --resources "$first" "$group" --tags Key=team,Value=a Key=empty,Value=
ok "instance team a" ec2 describe-tags --filters "Name=resource-id,Values=$first" Name=key,Values=team --query 'Tags[0].[ResourceType,Key,Value]'
ok "" ec2 delete-tags --resources "$first" "$group" --tags Key=team Key=empty
ok "0" ec2 describe-tags --filters "Name=resource-id,Values=$first" Name=key,Values=team,empty --query 'length(Tags)'
refused InvalidInstanceID.NotFound ec2 create-tags --resources i-00000000000000000 --tags Key=a,Value=b
ok "None" ec2 delete-security-group --group-id "$group" --query Nothing
refused InvalidGroup.NotFound ec2 delete-security-group --group-id "$group"

# Elastic IPs.
allocation=$(get ec2 allocate-address --domain vpc --query AllocationId)
ok "vpc $allocation None" ec2 describe-addresses --allocation-ids "$allocation" --query 'Addresses[0].[Domain,AllocationId,AssociationId]'
ok "" ec2 release-address --allocation-id "$allocation"
refused InvalidAllocationID.NotFound ec2 describe-addresses --allocation-ids "$allocation"
ok "us-west-2" ec2 describe-regions --query 'Regions[].RegionName'

# Who may not.
AWS_DEFAULT_REGION=eu-west-1 refused AuthFailure ec2 describe-vpcs
finish
