package sim

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// API versions. EC2 responds to every published version in the format of the last one.
const (
	versionEC2   = "2016-11-15"
	versionELB   = "2012-06-01"
	versionELBv2 = "2015-12-01"
	versionSTS   = "2011-06-15"
)

// namespaceOf returns the XML namespace of the responses of a service.
func namespaceOf(service, version string) string {
	switch service {
	case core.ServiceEC2:
		return "http://ec2.amazonaws.com/doc/" + version + "/"
	case core.ServiceSTS:
		return "https://sts.amazonaws.com/doc/" + versionSTS + "/"
	case core.ServiceELB:
		return "http://elasticloadbalancing.amazonaws.com/doc/" + versionELB + "/"
	default:
		return "http://elasticloadbalancing.amazonaws.com/doc/" + versionELBv2 + "/"
	}
}

// parseCall identifies the service, because all respond at one endpoint: by the service that the request was
// signed for, else by its version, else by the host. The two generations of Elastic Load Balancing
// sign alike and differ by version only.
func parseCall(r *http.Request) core.Call {
	// A request with an invalid body is rejected because it has no action.
	_ = r.ParseForm()
	c := core.Call{Version: r.Form.Get("Version"), Action: r.Form.Get("Action")}
	c.Credential, c.Malformed, c.Signed = query.CredentialOf(r)
	c.Service = identifyService(c.Credential.Service, c.Version, r.Host)
	c.Version = cmp.Or(c.Version, versionEC2)
	return c
}

func identifyService(scope, version, host string) string {
	byVersion := map[string]string{versionELB: core.ServiceELB, versionELBv2: core.ServiceELBv2,
		versionSTS: core.ServiceSTS}
	if s := byVersion[version]; s != "" {
		return s
	}
	switch {
	case scope == "ec2":
		return core.ServiceEC2
	case scope == "elasticloadbalancing":
		return core.ServiceELBv2
	case scope == "sts", strings.HasPrefix(host, "sts."):
		return core.ServiceSTS
	case strings.HasPrefix(host, "elasticloadbalancing."):
		return core.ServiceELBv2
	}
	return core.ServiceEC2
}
