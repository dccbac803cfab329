package sim

import (
	"net/http"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// Names of the services, as the call log and the limits of the front use them.
const (
	serviceEC2   = "ec2"
	serviceELB   = "elb"
	serviceELBv2 = "elbv2"
	serviceSTS   = "sts"
	serviceIMDS  = "imds"
)

// API versions. EC2 answers every version that was ever published in the shape of the last one.
const (
	versionEC2   = "2016-11-15"
	versionELB   = "2012-06-01"
	versionELBv2 = "2015-12-01"
	versionSTS   = "2011-06-15"
)

// namespaceOf returns the XML namespace of the responses of a service.
func namespaceOf(service, version string) string {
	switch service {
	case serviceEC2:
		return "http://ec2.amazonaws.com/doc/" + version + "/"
	case serviceSTS:
		return "https://sts.amazonaws.com/doc/" + versionSTS + "/"
	case serviceELB:
		return "http://elasticloadbalancing.amazonaws.com/doc/" + versionELB + "/"
	default:
		return "http://elasticloadbalancing.amazonaws.com/doc/" + versionELBv2 + "/"
	}
}

// call is a parsed request with its service; the operation is still unknown.
type call struct {
	service, version, action string
	credential               query.Credential
	signed, malformed        bool
	mutating                 bool
	// noObjects calls see a cloud in which nothing exists.
	noObjects bool
}

// parseCall identifies the service, because all respond at one endpoint: by the service that the request was
// signed for, else by its version, else by the host. The two generations of Elastic Load Balancing
// sign alike and differ by version only.
func parseCall(r *http.Request) call {
	// A body that cannot be parsed has no action, and is refused for that.
	_ = r.ParseForm()
	c := call{version: r.Form.Get("Version"), action: r.Form.Get("Action")}
	c.credential, c.malformed, c.signed = query.CredentialOf(r)
	c.service = serviceBy(c.credential.Service, c.version, r.Host)
	if c.version == "" {
		c.version = versionEC2
	}
	return c
}

func serviceBy(scope, version, host string) string {
	byVersion := map[string]string{versionELB: serviceELB, versionELBv2: serviceELBv2, versionSTS: serviceSTS}
	if s := byVersion[version]; s != "" {
		return s
	}
	switch {
	case scope == "ec2":
		return serviceEC2
	case scope == "elasticloadbalancing":
		return serviceELBv2
	case scope == "sts", strings.HasPrefix(host, "sts."):
		return serviceSTS
	case strings.HasPrefix(host, "elasticloadbalancing."):
		return serviceELBv2
	}
	return serviceEC2
}
