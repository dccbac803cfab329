#!/usr/bin/env bash
# Every operation of Elastic Load Balancing's first generation that a cloud controller manager calls, or may want to.
# shellcheck disable=SC2016 # backquotes are JMESPath's
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

read -r one two three <<<"$(get ec2 describe-subnets --filters Name=tag-key,Values=kubernetes.io/role/elb --query 'Subnets[].SubnetId')"
read -r first second _ <<<"$(get ec2 describe-instances --filters Name=instance-state-name,Values=running --query 'Reservations[].Instances[].InstanceId')"
vpc=$(get ec2 describe-vpcs --query 'Vpcs[0].VpcId')
group=$(get ec2 create-security-group --group-name elb --description "of a load balancer" --vpc-id "$vpc" --query GroupId)
nodes=$(get ec2 describe-instances --instance-ids "$first" --query 'Reservations[0].Instances[0].SecurityGroups[0].GroupId')
ok "True" ec2 authorize-security-group-ingress --group-id "$nodes" --ip-permissions "IpProtocol=-1,UserIdGroupPairs=[{GroupId=$group}]" --query Return
certificate=arn:aws:acm:us-west-2:123456789012:certificate/12345678-1234-1234-1234-123456789012

# Load balancers.
dns=$(get elb create-load-balancer --load-balancer-name web --listeners Protocol=TCP,LoadBalancerPort=80,InstanceProtocol=TCP,InstancePort=30080 \
	--subnets "$one" "$two" --security-groups "$group" --tags Key=k,Value=v --query DNSName)
ok "$dns" elb create-load-balancer --load-balancer-name web --listeners Protocol=TCP,LoadBalancerPort=80,InstanceProtocol=TCP,InstancePort=30080 \
	--subnets "$two" "$one" --security-groups "$group" --query DNSName
refused DuplicateLoadBalancerName elb create-load-balancer --load-balancer-name web --listeners Protocol=TCP,LoadBalancerPort=81,InstancePort=30081 --subnets "$one"
refused SubnetNotFound elb create-load-balancer --load-balancer-name x --listeners Protocol=TCP,LoadBalancerPort=81,InstancePort=30081 --subnets subnet-00000000000000000
refused CertificateNotFound elb create-load-balancer --load-balancer-name x --subnets "$one" \
	--listeners Protocol=SSL,LoadBalancerPort=443,InstanceProtocol=TCP,InstancePort=30081,SSLCertificateId=nonsense
ok "web internet-facing $vpc $dns 2 TCP:30080 30 5 10 2" elb describe-load-balancers --load-balancer-names web --query 'LoadBalancerDescriptions[0].[LoadBalancerName,
	Scheme, VPCId, DNSName, length(Subnets), HealthCheck.Target, HealthCheck.Interval, HealthCheck.Timeout, HealthCheck.HealthyThreshold, HealthCheck.UnhealthyThreshold]'
refused LoadBalancerNotFound elb describe-load-balancers --load-balancer-names none
db=$(get elb create-load-balancer --load-balancer-name db --scheme internal --listeners Protocol=TCP,LoadBalancerPort=5432,InstancePort=30432 \
	--subnets "$one" --query DNSName)
[[ $db == internal-db-* ]] || failed "elb create-load-balancer: an internal one is called $db"
read -r name marker <<<"$(get elb describe-load-balancers --page-size 1 --query '[LoadBalancerDescriptions[0].LoadBalancerName, NextMarker]')"
[[ $name == db ]] || failed "elb describe-load-balancers: the first page has $name"
ok "web None" elb describe-load-balancers --page-size 1 --marker "$marker" --query '[LoadBalancerDescriptions[0].LoadBalancerName, NextMarker]'

# Instances.
ok "$first $second" elb register-instances-with-load-balancer --load-balancer-name web --instances "$first" "$second" --query 'Instances[].InstanceId'
refused InvalidInstance elb register-instances-with-load-balancer --load-balancer-name web --instances i-00000000000000000
ok "" elb wait instance-in-service --load-balancer-name web --instances "$first" "$second"
ok "InService N/A" elb describe-instance-health --load-balancer-name web --instances "$first" --query 'InstanceStates[0].[State,ReasonCode]'
ok "$second" elb deregister-instances-from-load-balancer --load-balancer-name web --instances "$first" --query 'Instances[].InstanceId'
ok "" elb wait instance-deregistered --load-balancer-name web --instances "$first"

# Listeners, the health check and attributes.
ok "" elb create-load-balancer-listeners --load-balancer-name web \
	--listeners "Protocol=SSL,LoadBalancerPort=443,InstanceProtocol=TCP,InstancePort=30443,SSLCertificateId=$certificate"
refused DuplicateListener elb create-load-balancer-listeners --load-balancer-name web --listeners Protocol=TCP,LoadBalancerPort=80,InstancePort=30081
ok "" elb set-load-balancer-listener-ssl-certificate --load-balancer-name web --load-balancer-port 443 --ssl-certificate-id "$certificate"
ok "SSL 443 TCP 30443 $certificate" elb describe-load-balancers --load-balancer-names web --query 'LoadBalancerDescriptions[0].ListenerDescriptions[?Listener.LoadBalancerPort==`443`].Listener |
	[0].[Protocol,LoadBalancerPort,InstanceProtocol,InstancePort,SSLCertificateId]'
ok "HTTP:10256/healthz 10" elb configure-health-check --load-balancer-name web \
	--health-check Target=HTTP:10256/healthz,Interval=10,UnhealthyThreshold=6,HealthyThreshold=2,Timeout=5 --query 'HealthCheck.[Target,Interval]'
refused ValidationError elb configure-health-check --load-balancer-name web --health-check Target=nonsense,Interval=10,UnhealthyThreshold=6,HealthyThreshold=2,Timeout=5
ok "True 60 300" elb modify-load-balancer-attributes --load-balancer-name web --load-balancer-attributes \
	'CrossZoneLoadBalancing={Enabled=true},ConnectionSettings={IdleTimeout=60},ConnectionDraining={Enabled=true,Timeout=300},AccessLog={Enabled=false}' \
	--query 'LoadBalancerAttributes.[CrossZoneLoadBalancing.Enabled, ConnectionSettings.IdleTimeout, ConnectionDraining.Timeout]'
ok "True 60 True 300 False elb.http.desyncmitigationmode" elb describe-load-balancer-attributes --load-balancer-name web --query 'LoadBalancerAttributes.[CrossZoneLoadBalancing.Enabled,
	ConnectionSettings.IdleTimeout, ConnectionDraining.Enabled, ConnectionDraining.Timeout, AccessLog.Enabled, AdditionalAttributes[0].Key]'

# Policies.
ok "" elb create-load-balancer-policy --load-balancer-name web --policy-name k8s-proxyprotocol-enabled --policy-type-name ProxyProtocolPolicyType \
	--policy-attributes AttributeName=ProxyProtocol,AttributeValue=true
refused DuplicatePolicyName elb create-load-balancer-policy --load-balancer-name web --policy-name k8s-proxyprotocol-enabled --policy-type-name ProxyProtocolPolicyType
ok "" elb set-load-balancer-policies-for-backend-server --load-balancer-name web --instance-port 30080 --policy-names k8s-proxyprotocol-enabled
ok "30080 k8s-proxyprotocol-enabled" elb describe-load-balancers --load-balancer-names web \
	--query 'LoadBalancerDescriptions[0].BackendServerDescriptions[0].[InstancePort,PolicyNames[0]]'
ok "" elb create-load-balancer-policy --load-balancer-name web --policy-name k8s-SSLNegotiationPolicy-new --policy-type-name SSLNegotiationPolicyType \
	--policy-attributes AttributeName=Reference-Security-Policy,AttributeValue=ELBSecurityPolicy-TLS-1-2-2017-01
ok "" elb set-load-balancer-policies-of-listener --load-balancer-name web --load-balancer-port 443 --policy-names k8s-SSLNegotiationPolicy-new
refused PolicyNotFound elb set-load-balancer-policies-of-listener --load-balancer-name web --load-balancer-port 443 --policy-names none
ok "ProxyProtocolPolicyType ProxyProtocol true" elb describe-load-balancer-policies --load-balancer-name web --policy-names k8s-proxyprotocol-enabled \
	--query 'PolicyDescriptions[0].[PolicyTypeName, PolicyAttributeDescriptions[0].AttributeName, PolicyAttributeDescriptions[0].AttributeValue]'
ok "" elb set-load-balancer-policies-for-backend-server --load-balancer-name web --instance-port 30080 --policy-names '[]'
ok "" elb delete-load-balancer-policy --load-balancer-name web --policy-name k8s-proxyprotocol-enabled
ok "" elb delete-load-balancer-listeners --load-balancer-name web --load-balancer-ports 443

# Subnets, security groups and tags.
attached=$(get elb attach-load-balancer-to-subnets --load-balancer-name web --subnets "$three" --query 'length(Subnets)')
[[ $attached == 3 ]] || failed "elb attach-load-balancer-to-subnets: $attached subnets, want 3"
ok "2" elb detach-load-balancer-from-subnets --load-balancer-name web --subnets "$one" --query 'length(Subnets)'
ok "$group" elb apply-security-groups-to-load-balancer --load-balancer-name web --security-groups "$group" --query 'SecurityGroups[0]'
refused InvalidSecurityGroup elb apply-security-groups-to-load-balancer --load-balancer-name web --security-groups sg-00000000000000000
ok "" elb add-tags --load-balancer-names web --tags Key=team,Value=a
ok "web k v team a" elb describe-tags --load-balancer-names web --query 'TagDescriptions[0].[LoadBalancerName, Tags[0].Key, Tags[0].Value, Tags[1].Key, Tags[1].Value]'
ok "" elb remove-tags --load-balancer-names web --tags team
ok "1" elb describe-tags --load-balancer-names web --query 'length(TagDescriptions[0].Tags)'
refused LoadBalancerNotFound elb describe-tags --load-balancer-names none

# The end.
ok "" elb delete-load-balancer --load-balancer-name web
ok "" elb delete-load-balancer --load-balancer-name web
ok "" elb delete-load-balancer --load-balancer-name db
ok "True" ec2 revoke-security-group-ingress --group-id "$nodes" --ip-permissions "IpProtocol=-1,UserIdGroupPairs=[{GroupId=$group}]" --query Return
ok "None" ec2 delete-security-group --group-id "$group" --query Nothing
finish
