package intent

// The paths of the spec fields that load balancers are computed from.
const (
	FieldPorts                 = "spec.ports"
	FieldIPFamilies            = "spec.ipFamilies"
	FieldLoadBalancerIP        = "spec.loadBalancerIP"
	FieldSourceRanges          = "spec.loadBalancerSourceRanges"
	FieldExternalTrafficPolicy = "spec.externalTrafficPolicy"
	FieldHealthCheckNodePort   = "spec.healthCheckNodePort"
	FieldSessionAffinity       = "spec.sessionAffinity"
)
