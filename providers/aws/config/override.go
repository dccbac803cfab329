package config

import (
	"maps"
	"slices"
	"strings"

	commonconfig "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
)

// serviceNames maps the spellings of a service in [ServiceOverride] to services: the IDs of SDK v2,
// and the names of SDK v1, where both generations of load balancers shared a name.
func serviceNames() map[string][]api.Service {
	return map[string][]api.Service{
		"EC2":                       {api.ServiceEC2},
		"Elastic Load Balancing":    {api.ServiceELB},
		"Elastic Load Balancing v2": {api.ServiceELBV2},
		"elasticloadbalancing":      {api.ServiceELB, api.ServiceELBV2},
		"elasticloadbalancingv2":    {api.ServiceELBV2},
		"STS":                       {api.ServiceSTS},
		"ec2imds":                   {api.ServiceIMDS},
		"ec2metadata":               {api.ServiceIMDS},
	}
}

// unusedServices returns services that existing files may name and that this provider does not call.
func unusedServices() []string {
	return []string{"KMS", "autoscaling", "Auto Scaling", "ECR", "IAM", "S3"}
}

// servicesOf returns the services of a name. unused reports a known service that is not called.
func servicesOf(name string) (list []api.Service, unused bool) {
	for spelling, services := range serviceNames() {
		if strings.EqualFold(spelling, name) {
			return services, false
		}
	}
	return nil, slices.ContainsFunc(unusedServices(), func(s string) bool { return strings.EqualFold(s, name) })
}

// overrideNames returns the names of the subsections, sorted.
func (c *Config) overrideNames() []string { return slices.Sorted(maps.Keys(c.ServiceOverride)) }

// pair is a key and its value.
type pair struct{ key, value string }

func (c *Config) validateOverride(f *commonconfig.File, name string) {
	o, section := c.ServiceOverride[name], commonconfig.Section(sectionOverride, name)
	o.trim()
	required := []pair{{"Service", o.Service}, {"Region", o.Region}, {"URL", o.URL}, {"SigningRegion", o.SigningRegion}}
	for _, p := range required {
		if p.value == "" {
			f.Errorf(section, p.key, "is missing: Service, Region, URL and SigningRegion are required")
		}
	}
	services := o.validateService(f, section)
	if o.URL != "" && !commonconfig.IsBaseURL(o.URL) {
		f.Errorf(section, "URL", "must be a URL such as https://ec2.us-west-2.amazonaws.com, not %q", o.URL)
	}
	if o.SigningMethod != "" && !strings.EqualFold(o.SigningMethod, "v4") {
		f.Warnf(section, "SigningMethod", "has no effect: requests are signed with version 4")
	}
	region := c.Region()
	if region != "" && o.Region != "" && o.Region != region && !slices.Contains(services, api.ServiceIMDS) {
		f.Warnf(section, "Region", "has no effect: it is for %s, and the region of the manager is %s", o.Region, region)
	}
	if other := c.duplicateOverride(name); other != "" {
		f.Errorf(section, "Service", "%s in %s is overridden twice, here and in [%s]; keep one",
			o.Service, o.Region, commonconfig.Section(sectionOverride, other))
	}
}

// validateService validates Service and returns the services of the section.
func (o *ServiceOverride) validateService(f *commonconfig.File, section string) []api.Service {
	services, unused := servicesOf(o.Service)
	switch {
	case unused:
		f.Warnf(section, "Service", "has no effect: this manager does not call %s", o.Service)
	case o.Service != "" && services == nil:
		f.Warnf(section, "Service", "has no effect: unknown service %q%s", o.Service, suggestService(o.Service))
	}
	return services
}

// duplicateOverride returns an earlier section for the same service and region, "" if there is none.
func (c *Config) duplicateOverride(name string) string {
	o := c.ServiceOverride[name]
	for _, other := range c.overrideNames() {
		if other >= name {
			break
		}
		if p := c.ServiceOverride[other]; o.Service != "" && strings.EqualFold(p.Service, o.Service) && p.Region == o.Region {
			return other
		}
	}
	return ""
}

func (o *ServiceOverride) trim() {
	fields := []*string{&o.Service, &o.Region, &o.URL, &o.SigningRegion, &o.SigningName, &o.SigningMethod}
	for _, field := range fields {
		*field = strings.TrimSpace(*field)
	}
}

// suggestService returns the end of a message about an unknown service.
func suggestService(name string) string {
	known := slices.Sorted(maps.Keys(serviceNames()))
	if nearest := provider.Nearest(name, known); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return "; use one of " + strings.Join(known, ", ")
}

// Override returns the custom endpoint of a service in a region, or nil. A section for one
// generation of load balancers takes precedence over a section for both.
func (c *Config) Override(s api.Service, region string) *ServiceOverride {
	var found *ServiceOverride
	foundServices := 0
	for _, name := range c.overrideNames() {
		o := c.ServiceOverride[name]
		services, _ := servicesOf(o.Service)
		if !slices.Contains(services, s) || s != api.ServiceIMDS && o.Region != region {
			continue
		}
		if found == nil || len(services) < foundServices {
			found, foundServices = o, len(services)
		}
	}
	return found
}
