package classic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

// differ builds one plan.
type differ struct {
	cloud *Cloud
	key   lbcommon.Key
	name  string
	want  Desired
	have  Observed
	plan  plan.Plan
	// base is the creation of the load balancer, which every other change of it waits for.
	base []plan.Ref
	// listeners is the creation of listeners, which their policies wait for.
	listeners []plan.Ref
	// attached is the change that attaches the subnets newZones, which the instances of their zones wait for.
	attached []plan.Ref
	newZones []string
}

// add appends a change of the load balancer, which waits for its creation.
func (d *differ) add(change plan.Change) {
	change.After = append(slices.Clone(change.After), d.base...)
	d.plan.Add(change)
}

func (d *differ) foreignOwner(b Balancer) string { return d.cloud.foreignOwner(d.key, b) }

func (d *differ) refuseForeign(b Balancer) error {
	owner := d.foreignOwner(b)
	if owner == "" {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: d.key.Subject(),
		Err: fmt.Errorf("the load balancer %s belongs to %s, not to cluster %q in VPC %s, and is left alone: delete it if "+
			"that cluster no longer exists, or create the Service again under another name",
			b.Name, owner, d.cloud.options.Cluster.ID, d.cloud.options.VPC)}
}

// finish records a write in the snapshot, or, if it failed, that its outcome is uncertain. It returns err.
func (d *differ) finish(err error, change func(*store)) error {
	if err != nil {
		d.cloud.store.state.MarkUncertain(d.name)
		return err
	}
	change(d.cloud.store)
	return nil
}

// finishBalancer is finish for properties of the load balancer itself.
func (d *differ) finishBalancer(err error, change func(*Balancer)) error {
	return d.finish(err, func(s *store) { s.balancers.Update(d.name, change) })
}

// advise classifies an error, and adds the annotation that caused it with its fix.
func (d *differ) advise(operation string, err error) error {
	wrapped := awserr.Wrap(operation, err)
	if err == nil {
		return nil
	}
	var key, value, fix string
	switch {
	case awserr.Is(err, "CertificateNotFound"):
		key, fix = annotation.KeyCertificates, "write the ARN of a certificate of this region and account"
		for _, l := range d.want.Listeners {
			if l.Certificate != "" {
				value = l.Certificate
			}
		}
	case awserr.Is(err, "InvalidSecurityGroup") && len(d.want.Groups) > 0:
		key, value, fix = annotation.KeySecurityGroups+" or "+annotation.KeyExtraSecurityGroups,
			strings.Join(d.want.Groups, ","), "list security groups of VPC "+d.cloud.options.VPC
	case operation == "CreateLoadBalancerPolicy" && d.want.TLSPolicy != "" && cloudapi.Is(wrapped, cloudapi.Invalid):
		key, value, fix = annotation.KeyTLSPolicy, d.want.TLSPolicy,
			"write the name of one of AWS' predefined policies for classic load balancers"
	case operation == "ModifyLoadBalancerAttributes" && d.want.Attributes.AccessLog.Enabled &&
		cloudapi.Is(wrapped, cloudapi.Invalid):
		key, value, fix = annotation.KeyAccessLogBucket, d.want.Attributes.AccessLog.Bucket,
			"name a bucket of this region with a policy that lets AWS write there"
	default:
		return wrapped
	}
	return fmt.Errorf("%s is %s: %s: %w", key, intent.Quote(value), fix, wrapped)
}
