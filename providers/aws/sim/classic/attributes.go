package classic

import (
	"fmt"
	"net/http"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

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

// attributes are the attributes of a classic load balancer. In a request, nil fields do not change.
type attributes struct {
	CrossZoneLoadBalancing *enabledAttribute
	AccessLog              *accessLog
	ConnectionDraining     *draining
	ConnectionSettings     *connectionSettings
	AdditionalAttributes   []elb.Attribute `xml:"-"`
}

// desyncMode is the additional attribute that every load balancer has.
const desyncMode = "elb.http.desyncmitigationmode"

func defaultAttributes() attributes {
	timeout := int32(300)
	return attributes{
		CrossZoneLoadBalancing: &enabledAttribute{}, AccessLog: &accessLog{},
		ConnectionDraining: &draining{Timeout: &timeout}, ConnectionSettings: &connectionSettings{60},
		AdditionalAttributes: []elb.Attribute{{Key: desyncMode, Value: "defensive"}},
	}
}

type attributesView struct {
	attributes
	Additional query.Members[elb.Attribute] `xml:"AdditionalAttributes"`
}

func (a attributes) validate() error { //nolint:cyclop // a list of independent checks, read from top to bottom
	if l := a.AccessLog; l != nil && l.Enabled {
		if l.S3BucketName == "" {
			return refuseConfiguration("S3BucketName is required when access logs are enabled")
		}
		if i := l.EmitInterval; i != nil && *i != 5 && *i != 60 {
			return refuseConfiguration("EmitInterval %d must be 5 or 60", *i)
		}
	}
	if d := a.ConnectionDraining; d != nil && d.Timeout != nil && (*d.Timeout < 1 || *d.Timeout > 3600) {
		return refuseConfiguration("ConnectionDraining timeout %d must be between 1 and 3600", *d.Timeout)
	}
	if s := a.ConnectionSettings; s != nil && (s.IdleTimeout < 1 || s.IdleTimeout > 4000) {
		return refuseConfiguration("ConnectionSettings idle timeout %d must be between 1 and 4000", s.IdleTimeout)
	}
	for _, additional := range a.AdditionalAttributes {
		if additional.Key != desyncMode {
			return core.Refuse("LoadBalancerAttributeNotFound", "The attribute %s does not exist", additional.Key)
		}
	}
	return nil
}

// refuseConfiguration returns the error for an invalid configuration. The second generation sends the same code with
// another status.
func refuseConfiguration(format string, args ...any) error {
	return &core.RefusalError{Status: http.StatusConflict, Code: "InvalidConfigurationRequest",
		Message: fmt.Sprintf(format, args...)}
}

// merge returns the attributes after the changes of a request.
func (a attributes) merge(in attributes) attributes {
	if in.CrossZoneLoadBalancing != nil {
		a.CrossZoneLoadBalancing = in.CrossZoneLoadBalancing
	}
	if in.AccessLog != nil {
		a.AccessLog = in.AccessLog
	}
	if in.ConnectionDraining != nil {
		merged := *in.ConnectionDraining
		if merged.Timeout == nil {
			merged.Timeout = a.ConnectionDraining.Timeout
		}
		a.ConnectionDraining = &merged
	}
	if in.ConnectionSettings != nil {
		a.ConnectionSettings = in.ConnectionSettings
	}
	if len(in.AdditionalAttributes) > 0 {
		a.AdditionalAttributes = in.AdditionalAttributes
	}
	return a
}
