package api

// Service identifies one of the APIs that the provider calls, in metrics and rate limits.
type Service string

// The services.
const (
	ServiceEC2   Service = "ec2"
	ServiceELB   Service = "elb"
	ServiceELBV2 Service = "elbv2"
	ServiceSTS   Service = "sts"
	ServiceIMDS  Service = "imds"
)
