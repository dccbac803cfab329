package awserr

import (
	"strings"
	"sync"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// ClassOfCode returns the class of an error code, and "" for an unknown one. Codes that are not listed are
// classified by AWS' naming patterns.
func ClassOfCode(code string) cloudapi.Class {
	if code == "" {
		return ""
	}
	if class, ok := codes()[code]; ok {
		return class
	}
	for _, p := range patterns() {
		if p.matches(code) {
			return p.class
		}
	}
	return ""
}

// codes maps error codes to classes: those of the actions in package api, and the common ones, from the services' API
// references.
var codes = sync.OnceValue(func() map[string]cloudapi.Class {
	out := map[string]cloudapi.Class{}
	for class, list := range map[cloudapi.Class][]string{
		cloudapi.NotFound: {
			"LoadBalancerNotFound", "AccessPointNotFound", "TargetGroupNotFound", "ListenerNotFound", "PolicyNotFound",
		},
		cloudapi.AlreadyExists: {
			"DuplicateLoadBalancerName", "DuplicateAccessPointName", "DuplicateTargetGroupName", "DuplicateListener",
			"DuplicatePolicyName", "RouteAlreadyExists",
		},
		cloudapi.Conflict: {
			"DependencyViolation", "ResourceInUse", "IncorrectInstanceState", "IncorrectState", "PriorityInUse",
			"OperationNotPermitted", "InvalidInstanceID.NotLinkable",
		},
		// RequestLimitExceeded and Throttling are the codes of EC2 and Elastic Load Balancing; the others are
		// common to AWS' services.
		cloudapi.Throttled: {
			"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled", "RequestThrottledException",
			"RequestLimitExceeded", "TooManyRequests", "TooManyRequestsException", "SlowDown", "EC2ThrottledException",
			"PriorRequestNotComplete", "BandwidthLimitExceeded",
		},
		cloudapi.Denied: {
			"UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "AuthFailure", "ExpiredToken",
			"ExpiredTokenException",
			"InvalidClientTokenId", "InvalidAccessKeyId", "InvalidSecurity", "SignatureDoesNotMatch", "IncompleteSignature",
			"MissingAuthenticationToken", "MissingAuthenticationTokenException", "UnrecognizedClientException", "OptInRequired",
			"RequestExpired", "Blocked", "PendingVerification", "InvalidIdentityToken", "IDPRejectedClaim", "NotAuthorized",
			"RegionDisabledException", "InvalidUserToken",
		},
		cloudapi.Quota: {
			"InsufficientFreeAddressesInSubnet", "LimitExceededException", "TargetGroupAssociationLimit",
		},
		// These are about an object that the request refers to, not about the object of the call.
		cloudapi.Invalid: {
			"SubnetNotFound", "CertificateNotFound", "AllocationIdNotFound", "SSLPolicyNotFound", "ALPNPolicyNotSupported",
			"LoadBalancerAttributeNotFound", "PolicyTypeNotFound", "AvailabilityZoneNotSupported", "IncompatibleProtocols",
			"DuplicateTagKeys", "DryRunOperation", "VPCIdNotSpecified",
		},
		cloudapi.Unavailable: {
			"InternalError", "InternalFailure", "InternalServerError", "Internal", "ServiceUnavailable", "Unavailable",
			"ServerInternal",
			"RequestTimeout", "RequestTimeoutException", "HealthUnavailable", "IDPCommunicationError",
		},
	} {
		for _, code := range list {
			out[code] = class
		}
	}
	return out
})

// pattern is a common part of codes.
type pattern struct {
	prefix, suffix string
	class          cloudapi.Class
}

func (p pattern) matches(code string) bool {
	return strings.HasPrefix(code, p.prefix) && strings.HasSuffix(code, p.suffix)
}

// patterns returns the patterns of codes. The first that matches a code applies.
func patterns() []pattern {
	return []pattern{
		// EC2: InvalidInstanceID.NotFound, InvalidGroup.NotFound, InvalidRoute.NotFound, ...
		{prefix: "Invalid", suffix: ".NotFound", class: cloudapi.NotFound},
		{prefix: "Invalid", suffix: ".Duplicate", class: cloudapi.AlreadyExists},
		{prefix: "Invalid", suffix: ".InUse", class: cloudapi.Conflict},
		// RulesPerSecurityGroupLimitExceeded, RouteLimitExceeded, TooManyTargets, ...
		{suffix: "LimitExceeded", class: cloudapi.Quota},
		{prefix: "TooMany", class: cloudapi.Quota},
		{prefix: "Invalid", class: cloudapi.Invalid},
		{prefix: "Malformed", class: cloudapi.Invalid},
		{prefix: "Missing", class: cloudapi.Invalid},
		{prefix: "Unknown", class: cloudapi.Invalid},
		{prefix: "Unsupported", class: cloudapi.Invalid},
		{prefix: "Validation", class: cloudapi.Invalid},
	}
}
