#!/usr/bin/env bash
# Every operation of Elastic Load Balancing's second generation that a cloud controller manager calls, or may want to.
# shellcheck disable=SC2016 # backquotes are JMESPath's
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

read -r one two three <<<"$(get ec2 describe-subnets --filters Name=tag-key,Values=kubernetes.io/role/elb --query 'Subnets[].SubnetId')"
read -r first second _ <<<"$(get ec2 describe-instances --filters Name=instance-state-name,Values=running --query 'Reservations[].Instances[].InstanceId')"
vpc=$(get ec2 describe-vpcs --query 'Vpcs[0].VpcId')
group=$(get ec2 create-security-group --group-name nlb --description "of a load balancer" --vpc-id "$vpc" --query GroupId)
nodes=$(get ec2 describe-instances --instance-ids "$first" --query 'Reservations[0].Instances[0].SecurityGroups[0].GroupId')
ok "True" ec2 authorize-security-group-ingress --group-id "$nodes" --ip-permissions "IpProtocol=-1,UserIdGroupPairs=[{GroupId=$group}]" --query Return
certificate=arn:aws:acm:us-west-2:123456789012:certificate/12345678-1234-1234-1234-123456789012
other=${certificate%2}3

# Load balancers.
lb=$(get elbv2 create-load-balancer --name web --type network --subnets "$one" "$two" --security-groups "$group" --tags Key=k,Value=v \
	--query 'LoadBalancers[0].LoadBalancerArn')
ok "$lb" elbv2 create-load-balancer --name web --type network --subnets "$two" "$one" --security-groups "$group" --query 'LoadBalancers[0].LoadBalancerArn'
refused DuplicateLoadBalancerName elbv2 create-load-balancer --name web --type network --subnets "$one"
refused SubnetNotFound elbv2 create-load-balancer --name x --type network --subnets subnet-00000000000000000
refused InvalidSecurityGroup elbv2 create-load-balancer --name x --type network --subnets "$one" --security-groups sg-00000000000000000
ok "" elbv2 wait load-balancer-available --names web
ok "web network internet-facing active ipv4 $vpc 2 True $group" elbv2 describe-load-balancers --load-balancer-arns "$lb" --query 'LoadBalancers[0].[LoadBalancerName,
	Type, Scheme, State.Code, IpAddressType, VpcId, length(AvailabilityZones), starts_with(AvailabilityZones[0].ZoneName, `us-west-2`), SecurityGroups[0]]'
refused LoadBalancerNotFound elbv2 describe-load-balancers --names none
allocation=$(get ec2 allocate-address --domain vpc --query AllocationId)
static=$(get elbv2 create-load-balancer --name static --type network --subnet-mappings "SubnetId=$one,AllocationId=$allocation" --query 'LoadBalancers[0].LoadBalancerArn')
ok "$allocation" elbv2 describe-load-balancers --names static --query 'LoadBalancers[0].AvailabilityZones[0].LoadBalancerAddresses[0].AllocationId'
ok "True False" ec2 describe-addresses --allocation-ids "$allocation" --query 'Addresses[0].[AssociationId != null, InstanceId != null]'
ok "network_load_balancer $allocation" ec2 describe-network-interfaces --filters 'Name=description,Values=ELB net/static/*' \
	--query 'NetworkInterfaces[0].[InterfaceType, Association.AllocationId]'
read -r name marker <<<"$(get elbv2 describe-load-balancers --page-size 1 --query '[LoadBalancers[0].LoadBalancerName, NextMarker]')"
[[ $name == static ]] || failed "elbv2 describe-load-balancers: the first page has $name"
ok "web None" elbv2 describe-load-balancers --page-size 1 --marker "$marker" --query '[LoadBalancers[0].LoadBalancerName, NextMarker]'
refused ValidationError elbv2 describe-load-balancers --page-size 401
refused InvalidConfigurationRequest elbv2 set-security-groups --load-balancer-arn "$static" --security-groups "$group"
ok "$group" elbv2 set-security-groups --load-balancer-arn "$lb" --security-groups "$group" --query 'SecurityGroupIds[0]'
ok "3" elbv2 set-subnets --load-balancer-arn "$lb" --subnets "$one" "$two" "$three" --query 'length(AvailabilityZones)'
refused InvalidConfigurationRequest elbv2 set-subnets --load-balancer-arn "$lb" --subnets "$one" "$one"
ok "dualstack" elbv2 set-ip-address-type --load-balancer-arn "$lb" --ip-address-type dualstack --query IpAddressType
ok "true" elbv2 modify-load-balancer-attributes --load-balancer-arn "$lb" --attributes Key=load_balancing.cross_zone.enabled,Value=true \
	--query 'Attributes[?Key==`load_balancing.cross_zone.enabled`].Value'
ok "true" elbv2 describe-load-balancer-attributes --load-balancer-arn "$lb" --query 'Attributes[?Key==`load_balancing.cross_zone.enabled`].Value'
refused InvalidConfigurationRequest elbv2 modify-load-balancer-attributes --load-balancer-arn "$lb" --attributes Key=nonsense,Value=true

# Target groups and targets.
tg=$(get elbv2 create-target-group --name web --protocol TCP --port 30080 --vpc-id "$vpc" --health-check-protocol HTTP --health-check-port 10256 \
	--health-check-path /healthz --health-check-interval-seconds 10 --tags Key=k,Value=v --query 'TargetGroups[0].TargetGroupArn')
refused DuplicateTargetGroupName elbv2 create-target-group --name web --protocol TCP --port 30081 --vpc-id "$vpc"
ok "TCP 30080 instance ipv4 HTTP 10256 /healthz 10 200-399 $vpc" elbv2 describe-target-groups --target-group-arns "$tg" --query 'TargetGroups[0].[Protocol, Port, TargetType,
	IpAddressType, HealthCheckProtocol, HealthCheckPort, HealthCheckPath, HealthCheckIntervalSeconds, Matcher.HttpCode, VpcId]'
ok "20 3" elbv2 modify-target-group --target-group-arn "$tg" --health-check-interval-seconds 20 --unhealthy-threshold-count 3 \
	--query 'TargetGroups[0].[HealthCheckIntervalSeconds,UnhealthyThresholdCount]'
ok "60" elbv2 modify-target-group-attributes --target-group-arn "$tg" --attributes Key=deregistration_delay.timeout_seconds,Value=60 \
	--query 'Attributes[?Key==`deregistration_delay.timeout_seconds`].Value'
ok "60 true" elbv2 describe-target-group-attributes --target-group-arn "$tg" --query '[Attributes[?Key==`deregistration_delay.timeout_seconds`].Value | [0],
	Attributes[?Key==`preserve_client_ip.enabled`].Value | [0]]'
ok "" elbv2 register-targets --target-group-arn "$tg" --targets "Id=$first" "Id=$second"
refused InvalidTarget elbv2 register-targets --target-group-arn "$tg" --targets Id=i-00000000000000000
ok "unused unused Target.NotInUse" elbv2 describe-target-health --target-group-arn "$tg" \
	--query 'TargetHealthDescriptions[] | [[0].TargetHealth.State, [1].TargetHealth.State, [0].TargetHealth.Reason]'
refused TargetGroupNotFound elbv2 describe-target-health --target-group-arn "${tg%????}0000"
ip=$(get elbv2 create-target-group --name addresses --protocol TCP --port 80 --vpc-id "$vpc" --target-type ip --query 'TargetGroups[0].TargetGroupArn')
ok "" elbv2 register-targets --target-group-arn "$ip" --targets Id=10.0.64.9,Port=8080
ok "10.0.64.9 8080 8080" elbv2 describe-target-health --target-group-arn "$ip" --query 'TargetHealthDescriptions[0].[Target.Id,Target.Port,HealthCheckPort]'
marker=$(get elbv2 describe-target-groups --page-size 1 --query NextMarker)
ok "1 None" elbv2 describe-target-groups --page-size 1 --marker "$marker" --query '[length(TargetGroups), NextMarker]'

# Listeners and certificates.
listener=$(get elbv2 create-listener --load-balancer-arn "$lb" --protocol TCP --port 80 --default-actions "Type=forward,TargetGroupArn=$tg" \
	--query 'Listeners[0].ListenerArn')
refused DuplicateListener elbv2 create-listener --load-balancer-arn "$lb" --protocol TCP --port 80 --default-actions "Type=forward,TargetGroupArn=$ip"
refused ResourceInUse elbv2 delete-target-group --target-group-arn "$tg"
refused TargetGroupAssociationLimit elbv2 create-listener --load-balancer-arn "$static" --protocol TCP --port 80 --default-actions "Type=forward,TargetGroupArn=$tg"
ok "" elbv2 wait target-in-service --target-group-arn "$tg"
ok "$lb" elbv2 describe-target-groups --names web --query 'TargetGroups[0].LoadBalancerArns[0]'
tls=$(get elbv2 create-listener --load-balancer-arn "$lb" --protocol TLS --port 443 --certificates "CertificateArn=$certificate" --ssl-policy ELBSecurityPolicy-TLS13-1-2-2021-06 \
	--alpn-policy HTTP2Preferred --default-actions "Type=forward,TargetGroupArn=$ip" --query 'Listeners[0].ListenerArn')
ok "TLS 443 ELBSecurityPolicy-TLS13-1-2-2021-06 $certificate HTTP2Preferred forward $ip" elbv2 describe-listeners --listener-arns "$tls" --query 'Listeners[0].[Protocol, Port,
	SslPolicy, Certificates[0].CertificateArn, AlpnPolicy[0], DefaultActions[0].Type, DefaultActions[0].TargetGroupArn]'
ok "$other" elbv2 add-listener-certificates --listener-arn "$tls" --certificates "CertificateArn=$other" --query 'Certificates[0].CertificateArn'
ok "$certificate True $other False" elbv2 describe-listener-certificates --listener-arn "$tls" \
	--query '[Certificates[0].CertificateArn, Certificates[0].IsDefault, Certificates[1].CertificateArn, Certificates[1].IsDefault]'
ok "" elbv2 remove-listener-certificates --listener-arn "$tls" --certificates "CertificateArn=$other"
refused CertificateNotFound elbv2 add-listener-certificates --listener-arn "$tls" --certificates CertificateArn=nonsense
marker=$(get elbv2 describe-listeners --load-balancer-arn "$lb" --page-size 1 --query NextMarker)
ok "1 None" elbv2 describe-listeners --load-balancer-arn "$lb" --page-size 1 --marker "$marker" --query '[length(Listeners), NextMarker]'
ok "TCP 8443" elbv2 modify-listener --listener-arn "$tls" --protocol TCP --port 8443 --query 'Listeners[0].[Protocol,Port]'
if "$aws" elbv2 describe-listener-attributes help >/dev/null 2>&1; then
	ok "400" elbv2 modify-listener-attributes --listener-arn "$listener" --attributes Key=tcp.idle_timeout.seconds,Value=400 --query 'Attributes[0].Value'
	ok "tcp.idle_timeout.seconds 400" elbv2 describe-listener-attributes --listener-arn "$listener" --query 'Attributes[0].[Key,Value]'
fi
refused ListenerNotFound elbv2 describe-listeners --listener-arns "${listener%????}0000"
refused LoadBalancerNotFound elbv2 describe-listeners --load-balancer-arn "${lb%????}0000"

# Tags.
ok "" elbv2 add-tags --resource-arns "$lb" "$tg" "$listener" --tags Key=team,Value=a
ok "$lb 2 $tg 2 $listener 1" elbv2 describe-tags --resource-arns "$lb" "$tg" "$listener" --query 'TagDescriptions[].[ResourceArn, length(Tags)]'
ok "" elbv2 remove-tags --resource-arns "$lb" "$tg" "$listener" --tag-keys team
ok "k v" elbv2 describe-tags --resource-arns "$lb" --query 'TagDescriptions[0].Tags[0].[Key,Value]'
refused LoadBalancerNotFound elbv2 describe-tags --resource-arns "${lb%????}0000"

# The end.
ok "" elbv2 deregister-targets --target-group-arn "$tg" --targets "Id=$first"
ok "" elbv2 wait target-deregistered --target-group-arn "$tg" --targets "Id=$first"
ok "" elbv2 delete-listener --listener-arn "$tls"
refused ListenerNotFound elbv2 delete-listener --listener-arn "$tls"
refused DependencyViolation ec2 delete-security-group --group-id "$group"
ok "" elbv2 delete-load-balancer --load-balancer-arn "$lb"
ok "" elbv2 delete-load-balancer --load-balancer-arn "$static"
ok "" elbv2 wait load-balancers-deleted --load-balancer-arns "$lb"
ok "" elbv2 delete-target-group --target-group-arn "$tg"
ok "" elbv2 delete-target-group --target-group-arn "$ip"
ok "" ec2 release-address --allocation-id "$allocation"
ok "True" ec2 revoke-security-group-ingress --group-id "$nodes" --ip-permissions "IpProtocol=-1,UserIdGroupPairs=[{GroupId=$group}]" --query Return
ok "None" ec2 delete-security-group --group-id "$group" --query Nothing
finish
