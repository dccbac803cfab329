package sim

import "github.com/unified-ccm/unified-ccm/providers/aws/sim/query"

type enabledAttribute struct{ Enabled bool }

type accessLog struct {
	Enabled        bool
	S3BucketName   string `xml:"S3BucketName,omitempty"`
	EmitInterval   *int32
	S3BucketPrefix string `xml:"S3BucketPrefix,omitempty"`
}

type draining struct {
	Enabled bool
	Timeout *int32
}

type connectionSettings struct{ IdleTimeout int32 }

// classicAttributes are all attributes of a classic load balancer, and in a request those that change.
type classicAttributes struct {
	CrossZoneLoadBalancing *enabledAttribute
	AccessLog              *accessLog
	ConnectionDraining     *draining
	ConnectionSettings     *connectionSettings
	AdditionalAttributes   []attribute `xml:"-"`
}

// desyncMode is the additional attribute that every load balancer has.
const desyncMode = "elb.http.desyncmitigationmode"

func newClassicAttributes() classicAttributes {
	timeout := int32(300)
	return classicAttributes{
		CrossZoneLoadBalancing: &enabledAttribute{}, AccessLog: &accessLog{},
		ConnectionDraining: &draining{Timeout: &timeout},
		ConnectionSettings: &connectionSettings{60}, AdditionalAttributes: []attribute{{desyncMode, "defensive"}},
	}
}

type classicAttributesView struct {
	classicAttributes
	Additional query.Members[attribute] `xml:"AdditionalAttributes"`
}

func (t *tx) describeClassicAttributes(b *classic, _ struct{ ofClassic }) (out struct {
	Attributes classicAttributesView `xml:"LoadBalancerAttributes"`
}, err error) {
	out.Attributes = classicAttributesView{b.attributes, query.MembersOf(b.attributes.AdditionalAttributes)}
	return out, nil
}

func (t *tx) modifyClassicAttributes(b *classic, in struct {
	ofClassic
	Attributes classicAttributes `q:"LoadBalancerAttributes"`
}) (out struct {
	Name       string                `xml:"LoadBalancerName"`
	Attributes classicAttributesView `xml:"LoadBalancerAttributes"`
}, err error) {
	if err := in.Attributes.validate(); err != nil {
		return out, err
	}
	b.attributes = b.attributes.with(in.Attributes)
	out.Name, out.Attributes = b.name, classicAttributesView{in.Attributes,
		query.MembersOf(in.Attributes.AdditionalAttributes)}
	return out, nil
}

func (a classicAttributes) validate() error { //nolint:cyclop // a list of independent checks, read from top to bottom
	if l := a.AccessLog; l != nil && l.Enabled {
		if l.S3BucketName == "" {
			return refuseClassic("S3BucketName is required when access logs are enabled")
		}
		if i := l.EmitInterval; i != nil && *i != 5 && *i != 60 {
			return refuseClassic("EmitInterval %d must be 5 or 60", *i)
		}
	}
	if d := a.ConnectionDraining; d != nil && d.Timeout != nil && (*d.Timeout < 1 || *d.Timeout > 3600) {
		return refuseClassic("ConnectionDraining timeout %d must be between 1 and 3600", *d.Timeout)
	}
	if s := a.ConnectionSettings; s != nil && (s.IdleTimeout < 1 || s.IdleTimeout > 4000) {
		return refuseClassic("ConnectionSettings idle timeout %d must be between 1 and 4000", s.IdleTimeout)
	}
	for _, x := range a.AdditionalAttributes {
		if x.Key != desyncMode {
			return refuse("LoadBalancerAttributeNotFound", "The attribute %s does not exist", x.Key)
		}
	}
	return nil
}

// with applies the changes of a request.
func (a classicAttributes) with(in classicAttributes) classicAttributes {
	if in.CrossZoneLoadBalancing != nil {
		a.CrossZoneLoadBalancing = in.CrossZoneLoadBalancing
	}
	if in.AccessLog != nil {
		a.AccessLog = in.AccessLog
	}
	if in.ConnectionDraining != nil {
		after := *in.ConnectionDraining
		if after.Timeout == nil {
			after.Timeout = a.ConnectionDraining.Timeout
		}
		a.ConnectionDraining = &after
	}
	if in.ConnectionSettings != nil {
		a.ConnectionSettings = in.ConnectionSettings
	}
	if len(in.AdditionalAttributes) > 0 {
		a.AdditionalAttributes = in.AdditionalAttributes
	}
	return a
}
