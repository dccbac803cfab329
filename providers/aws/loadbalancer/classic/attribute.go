package classic

import (
	"context"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
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

// attributesKind are the attributes, which have the name of their load balancer. AWS takes those of one group only
// together.
var attributesKind = rows.Kind[*Attributes, *elbtypes.LoadBalancerAttributes]{
	Name: "attributes",
	Key:  func(*Attributes) string { return "" },
	Rows: []rows.Row[*Attributes, *elbtypes.LoadBalancerAttributes]{
		{
			Name: "crossZone", Value: rows.Of(strconv.FormatBool, func(a *Attributes) *bool { return &a.CrossZone }),
			Set: func(r *elbtypes.LoadBalancerAttributes, want *Attributes) {
				r.CrossZoneLoadBalancing = &elbtypes.CrossZoneLoadBalancing{Enabled: want.CrossZone}
			},
		},
		accessLogRow("accessLog", rows.Of(strconv.FormatBool, func(a *Attributes) *bool { return &a.AccessLog.Enabled })),
		accessLogRow("accessLog.bucket", rows.Text(func(a *Attributes) *string { return &a.AccessLog.Bucket })),
		accessLogRow("accessLog.prefix", rows.Text(func(a *Attributes) *string { return &a.AccessLog.Prefix })),
		accessLogRow("accessLog.interval", rows.Number(func(a *Attributes) *int32 { return &a.AccessLog.Interval })),
		drainingRow("draining", rows.Of(strconv.FormatBool, func(a *Attributes) *bool { return &a.Draining })),
		drainingRow("drainTimeout", rows.Number(func(a *Attributes) *int32 { return &a.DrainTimeout })),
		{
			Name: "idleTimeout", Value: rows.Number(func(a *Attributes) *int32 { return &a.IdleTimeout }),
			Set: func(r *elbtypes.LoadBalancerAttributes, want *Attributes) {
				r.ConnectionSettings = &elbtypes.ConnectionSettings{IdleTimeout: aws.Int32(want.IdleTimeout)}
			},
		},
	},
}

func accessLogRow(name string, value rows.Value[*Attributes]) rows.Row[*Attributes, *elbtypes.LoadBalancerAttributes] {
	return rows.Row[*Attributes, *elbtypes.LoadBalancerAttributes]{
		Name: name, Value: value, Group: "access log",
		Set: func(r *elbtypes.LoadBalancerAttributes, want *Attributes) { r.AccessLog = want.AccessLog.toRequest() },
	}
}

func drainingRow(name string, value rows.Value[*Attributes]) rows.Row[*Attributes, *elbtypes.LoadBalancerAttributes] {
	return rows.Row[*Attributes, *elbtypes.LoadBalancerAttributes]{
		Name: name, Value: value, Group: "draining",
		Set: func(r *elbtypes.LoadBalancerAttributes, want *Attributes) {
			r.ConnectionDraining = &elbtypes.ConnectionDraining{Enabled: want.Draining}
			if want.Draining && want.DrainTimeout != 0 {
				r.ConnectionDraining.Timeout = aws.Int32(want.DrainTimeout)
			}
		},
	}
}

// diffAttributes plans the attributes that differ. Unset ones stay as they are.
func (d *differ) diffAttributes(have Attributes) {
	want := d.want.Attributes
	want.AccessLog = want.AccessLog.fillUnset(have.AccessLog)
	if !want.Draining || want.DrainTimeout == 0 {
		want.DrainTimeout = have.DrainTimeout
	}
	change, differ := attributesKind.Update(&have, &want)
	if !differ {
		return
	}
	var request elbtypes.LoadBalancerAttributes
	attributesKind.Set(&request, &want, change.Fields)
	change.Name, change.Step = d.name, attributesUpdate{request, want, d.advice()}
	d.add(change)
}

// attributesUpdate sets attributes.
type attributesUpdate struct {
	request elbtypes.LoadBalancerAttributes
	after   Attributes
	advice  advice
}

// Do implements plan.Step.
func (s attributesUpdate) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	_, err := w.api.ModifyLoadBalancerAttributes(ctx,
		&elb.ModifyLoadBalancerAttributesInput{LoadBalancerName: &w.name, LoadBalancerAttributes: &s.request})
	return w.finish(s.advice.classify("ModifyLoadBalancerAttributes", err), func(st *store) {
		st.attributes.Update(w.name, func(have *Attributes) { *have = s.after })
	})
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

// initialAttributes are those of a new load balancer, by the documentation of the API.
func initialAttributes() Attributes {
	return Attributes{DrainTimeout: initialDrainTimeout, IdleTimeout: defaultIdleTimeout}
}
