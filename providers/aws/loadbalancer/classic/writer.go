package classic

import (
	"fmt"
	"strings"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// writer makes the calls of the steps of one Service, and records them in the snapshot.
type writer struct {
	scope
	api       api.ELB
	store     *store
	groups    *vpc.GroupStore
	instances vpc.InstanceSource
	clock     clock.Clock
}

func (c *Cloud) writer(key lbcommon.Key) writer {
	return writer{scope: c.scope(key), api: c.options.API, store: c.store, groups: c.options.Groups,
		instances: c.options.Instances, clock: c.options.Clock}
}

// finish records a write in the snapshot, or, if it failed, that its outcome is uncertain. It returns err.
func (w writer) finish(err error, change func(*store)) error {
	if err != nil {
		w.store.state.MarkUncertain(w.name)
		return err
	}
	change(w.store)
	return nil
}

// finishBalancer is finish for properties of the load balancer itself.
func (w writer) finishBalancer(err error, change func(*Balancer)) error {
	return w.finish(err, func(s *store) { s.balancers.Update(w.name, change) })
}

// advice are the settings of a Service that may cause errors of calls.
type advice struct {
	// certificate is that of the last listener with one, bucket that of access logs.
	certificate, tlsPolicy, bucket, vpc string
	groups                              []string
}

// classify classifies an error of a call, and adds the annotation that caused it with its fix.
func (a advice) classify(operation string, err error) error {
	wrapped := awserr.Wrap(operation, err)
	if err == nil {
		return nil
	}
	var key, value, fix string
	switch {
	case awserr.Is(err, "CertificateNotFound"):
		key, value, fix = annotation.KeyCertificates, a.certificate,
			"write the ARN of a certificate of this region and account"
	case awserr.Is(err, "InvalidSecurityGroup") && len(a.groups) > 0:
		key, value, fix = annotation.KeySecurityGroups+" or "+annotation.KeyExtraSecurityGroups,
			strings.Join(a.groups, ","), "list security groups of VPC "+a.vpc
	case operation == "CreateLoadBalancerPolicy" && a.tlsPolicy != "" && cloudapi.Is(wrapped, cloudapi.Invalid):
		key, value, fix = annotation.KeyTLSPolicy, a.tlsPolicy,
			"write the name of one of AWS' predefined policies for classic load balancers"
	case operation == "ModifyLoadBalancerAttributes" && a.bucket != "" && cloudapi.Is(wrapped, cloudapi.Invalid):
		key, value, fix = annotation.KeyAccessLogBucket, a.bucket,
			"name a bucket of this region with a policy that lets AWS write there"
	default:
		return wrapped
	}
	return fmt.Errorf("%s is %s: %s: %w", key, intent.Quote(value), fix, wrapped)
}
