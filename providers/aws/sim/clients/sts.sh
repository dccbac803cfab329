#!/usr/bin/env bash
# Who one is: STS, and the credentials that the metadata service lends to an instance.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

role=arn:aws:iam::123456789012:role/ccm
ok "123456789012" sts get-caller-identity --query Account
ok "arn:aws:sts::123456789012:assumed-role/ccm/session" sts assume-role --role-arn $role --role-session-name session --query AssumedRoleUser.Arn
refused ValidationError sts assume-role --role-arn nonsense-that-is-long-enough --role-session-name session
ok "arn:aws:sts::123456789012:assumed-role/ccm/session" sts assume-role-with-web-identity --role-arn $role --role-session-name session \
	--web-identity-token header.payload.signature --query AssumedRoleUser.Arn
refused InvalidIdentityToken sts assume-role-with-web-identity --role-arn $role --role-session-name session --web-identity-token nonsense

# A session's key signs calls, and identifies the caller.
read -r key secret token <<<"$(get sts assume-role --role-arn $role --role-session-name other --query 'Credentials.[AccessKeyId,SecretAccessKey,SessionToken]')"
AWS_ACCESS_KEY_ID=$key AWS_SECRET_ACCESS_KEY=$secret AWS_SESSION_TOKEN=$token ok "arn:aws:sts::123456789012:assumed-role/ccm/other" sts get-caller-identity --query Arn

# Without keys the command line gets from the metadata service a token, the role's name and its credentials.
instance=$(get ec2 describe-instances --query 'sort_by(Reservations[].Instances[], &LaunchTime)[0].InstanceId')
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
export AWS_EC2_METADATA_DISABLED=false AWS_EC2_METADATA_SERVICE_ENDPOINT=$endpoint/
arn=$(get sts get-caller-identity --query Arn)
[[ $arn == arn:aws:sts::123456789012:assumed-role/nodes.*/i-* ]] || failed "sts get-caller-identity: $arn is not the role of instance $instance"
finish
