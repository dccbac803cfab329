package classic

import (
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
)

// State has the load balancers by name.
type State struct{ balancers map[string]*balancer }

// Tx is one operation on the state.
type Tx struct {
	*elb.Tx
	*State
}

// balancer is a load balancer of the first generation, identified by its name.
type balancer struct {
	name, scheme, VPC string
	dns               string
	listeners         []*listener
	policies          []*policy
	// backends are the policies of instance ports.
	backends   map[int32][]string
	subnets    []string
	groups     []string
	instances  []string
	registered map[string]time.Time
	check      healthCheck
	attributes attributes
	created    time.Time
	ENIs       map[string]string
}

func (b *balancer) policy(name string) *policy {
	for _, p := range b.policies {
		if p.name == name {
			return p
		}
	}
	return nil
}

type healthCheck struct {
	Target             string
	Interval           int32
	Timeout            int32
	UnhealthyThreshold int32
	HealthyThreshold   int32
}

// listener is one port of a classic load balancer.
type listener struct {
	Protocol         string
	LoadBalancerPort int32
	InstanceProtocol string
	InstancePort     int32
	SSLCertificateID string `q:"SSLCertificateId" xml:"SSLCertificateId,omitempty"`
	policies         []string
}

type policy struct {
	name, kind string
	attributes []policyAttribute
}

type policyAttribute struct {
	Name  string `q:"AttributeName" xml:"AttributeName"`
	Value string `q:"AttributeValue" xml:"AttributeValue"`
}

// balancerRef has the parameter of requests that identifies a load balancer.
type balancerRef struct{ LoadBalancerName string }
