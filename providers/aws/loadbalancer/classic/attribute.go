package classic

import (
	"context"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

// defaultIdleTimeout is the default idle timeout in seconds, the same as AWS'.
const defaultIdleTimeout = 60

// initialDrainTimeout is the draining timeout of a new load balancer in AWS, in seconds.
const initialDrainTimeout = 300

//nolint:gosec // the annotations are at most 4,000 s and 60 min
func desireAttributes(o annotation.Options) Attributes {
	a := Attributes{
		CrossZone: o.CrossZone, Draining: o.DrainConnections, DrainTimeout: int32(o.DrainTimeout / time.Second),
		IdleTimeout: int32(o.IdleTimeout / time.Second),
		AccessLog: AccessLog{Enabled: o.AccessLog.Enabled, Interval: int32(o.AccessLog.EmitInterval / time.Minute),
			Bucket: o.AccessLog.Bucket, Prefix: o.AccessLog.Prefix},
	}
	if a.IdleTimeout == 0 {
		a.IdleTimeout = defaultIdleTimeout
	}
	return a
}

// diffAttributes plans the attributes that differ. Unset ones are neither compared nor sent.
func (d *differ) diffAttributes(have Attributes) {
	want := d.want.Attributes
	after := have // the state after the request
	var f plan.Fields
	request := &elbtypes.LoadBalancerAttributes{}
	if f.Diff("crossZone", strconv.FormatBool(have.CrossZone), strconv.FormatBool(want.CrossZone)) {
		after.CrossZone = want.CrossZone
		request.CrossZoneLoadBalancing = &elbtypes.CrossZoneLoadBalancing{Enabled: want.CrossZone}
	}
	after.AccessLog = want.AccessLog.fillUnset(have.AccessLog)
	if diffAccessLog(&f, have.AccessLog, after.AccessLog) {
		request.AccessLog = after.AccessLog.toRequest()
	}
	draining := f.Diff("draining", strconv.FormatBool(have.Draining), strconv.FormatBool(want.Draining))
	after.Draining = want.Draining
	if want.Draining && want.DrainTimeout != 0 {
		draining = f.Diff("drainTimeout", plan.ShowInt(have.DrainTimeout), plan.ShowInt(want.DrainTimeout)) || draining
		after.DrainTimeout = want.DrainTimeout
	}
	if draining {
		request.ConnectionDraining = &elbtypes.ConnectionDraining{Enabled: want.Draining}
		if want.Draining && after.DrainTimeout != 0 {
			request.ConnectionDraining.Timeout = aws.Int32(after.DrainTimeout)
		}
	}
	if f.Diff("idleTimeout", plan.ShowInt(have.IdleTimeout), plan.ShowInt(want.IdleTimeout)) {
		after.IdleTimeout = want.IdleTimeout
		request.ConnectionSettings = &elbtypes.ConnectionSettings{IdleTimeout: aws.Int32(want.IdleTimeout)}
	}
	if len(f) > 0 {
		d.add(d.attributesUpdate(f, request, after))
	}
}

func (d *differ) attributesUpdate(
	f plan.Fields, request *elbtypes.LoadBalancerAttributes, after Attributes,
) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: "attributes", Name: d.name, Action: plan.Update},
		Fields: f,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			_, err := d.cloud.options.API.ModifyLoadBalancerAttributes(ctx,
				&elb.ModifyLoadBalancerAttributesInput{LoadBalancerName: &d.name, LoadBalancerAttributes: request})
			return d.finish(d.advise("ModifyLoadBalancerAttributes", err), func(s *store) {
				s.attributes.Update(d.name, func(have *Attributes) { *have = after })
			})
		},
	}
}

// fillUnset returns the settings, with unset ones filled from the existing ones.
func (l AccessLog) fillUnset(have AccessLog) AccessLog {
	if !l.Enabled {
		have.Enabled = false
		return have
	}
	if l.Interval == 0 {
		l.Interval = have.Interval
	}
	if l.Bucket == "" {
		l.Bucket = have.Bucket
	}
	if l.Prefix == "" {
		l.Prefix = have.Prefix
	}
	return l
}

func (l AccessLog) toRequest() *elbtypes.AccessLog {
	out := &elbtypes.AccessLog{Enabled: l.Enabled}
	if !l.Enabled {
		return out
	}
	out.S3BucketName = aws.String(l.Bucket)
	if l.Prefix != "" {
		out.S3BucketPrefix = aws.String(l.Prefix)
	}
	if l.Interval != 0 {
		out.EmitInterval = aws.Int32(l.Interval)
	}
	return out
}

// diffAccessLog compares access logs. Their settings do not matter while they are disabled.
func diffAccessLog(f *plan.Fields, have, after AccessLog) bool {
	before := len(*f)
	f.Diff("accessLog", strconv.FormatBool(have.Enabled), strconv.FormatBool(after.Enabled))
	if after.Enabled {
		f.Diff("accessLog.bucket", have.Bucket, after.Bucket)
		f.Diff("accessLog.prefix", have.Prefix, after.Prefix)
		f.Diff("accessLog.interval", plan.ShowInt(have.Interval), plan.ShowInt(after.Interval))
	}
	return len(*f) > before
}

// initialAttributes are those of a new load balancer, by the documentation of the API.
func initialAttributes() Attributes {
	return Attributes{DrainTimeout: initialDrainTimeout, IdleTimeout: defaultIdleTimeout}
}
