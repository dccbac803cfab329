package aws

import (
	"maps"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// service is one of the APIs that the provider calls, under the name that metrics and limits use.
type service string

// The services.
const (
	serviceEC2   service = "ec2"
	serviceELB   service = "elb"
	serviceELBv2 service = "elbv2"
	serviceSTS   service = "sts"
	serviceIMDS  service = "imds"
)

// serviceNames are the spellings of a service in [ServiceOverride]: the IDs of the current SDK, and
// the names of the one before, where both generations of load balancers had one name.
func serviceNames() map[string][]service {
	return map[string][]service{
		"EC2":                       {serviceEC2},
		"Elastic Load Balancing":    {serviceELB},
		"Elastic Load Balancing v2": {serviceELBv2},
		"elasticloadbalancing":      {serviceELB, serviceELBv2},
		"elasticloadbalancingv2":    {serviceELBv2},
		"STS":                       {serviceSTS},
		"ec2imds":                   {serviceIMDS},
		"ec2metadata":               {serviceIMDS},
	}
}

// unusedServices may stand in files of today's manager, or of its predecessors, and are not called.
func unusedServices() []string {
	return []string{"KMS", "autoscaling", "Auto Scaling", "ECR", "IAM", "S3"}
}

// servicesNamed returns the services that a name means; unused is true for one that is known and not called.
func servicesNamed(name string) (services []service, unused bool) {
	for spelling, of := range serviceNames() {
		if strings.EqualFold(spelling, name) {
			return of, false
		}
	}
	return nil, slices.ContainsFunc(unusedServices(), func(s string) bool { return strings.EqualFold(s, name) })
}

// overrideNames are the subsections, sorted.
func (c *Config) overrideNames() []string { return slices.Sorted(maps.Keys(c.ServiceOverride)) }

func (c *Config) validateOverride(f *config.File, name string) {
	o, section := c.ServiceOverride[name], config.Section(sectionOverride, name)
	o.trim()
	for _, p := range []pair{{"Service", o.Service}, {"Region", o.Region}, {"URL", o.URL}, {"SigningRegion", o.SigningRegion}} {
		if p.value == "" {
			f.Errorf(section, p.key, "is missing: Service, Region, URL and SigningRegion are all needed")
		}
	}
	services := o.validateService(f, section)
	if o.URL != "" && !config.IsBaseURL(o.URL) {
		f.Errorf(section, "URL", "must be a URL such as https://ec2.us-west-2.amazonaws.com, not %q", o.URL)
	}
	if o.SigningMethod != "" && !strings.EqualFold(o.SigningMethod, "v4") {
		f.Warnf(section, "SigningMethod", "has no effect: requests are signed with version 4")
	}
	if region := c.region(); region != "" && o.Region != "" && o.Region != region && !slices.Contains(services, serviceIMDS) {
		f.Warnf(section, "Region", "has no effect: it is for %s, and the manager works in %s", o.Region, region)
	}
	if other := c.sameOverride(name); other != "" {
		f.Errorf(section, "Service", "%s in %s is overridden twice, here and in [%s]; keep one", o.Service, o.Region, config.Section(sectionOverride, other))
	}
}

// validateService returns the services that the section is about.
func (o *ServiceOverride) validateService(f *config.File, section string) []service {
	services, unused := servicesNamed(o.Service)
	switch {
	case unused:
		f.Warnf(section, "Service", "has no effect: this manager does not call %s", o.Service)
	case o.Service != "" && services == nil:
		f.Errorf(section, "Service", "%q is no service that is called%s", o.Service, knownServices(o.Service))
	}
	return services
}

// sameOverride returns an earlier section for the same service and region, "" if there is none.
func (c *Config) sameOverride(name string) string {
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
	for _, field := range []*string{&o.Service, &o.Region, &o.URL, &o.SigningRegion, &o.SigningName, &o.SigningMethod} {
		*field = strings.TrimSpace(*field)
	}
}

func knownServices(name string) string {
	known := slices.Sorted(maps.Keys(serviceNames()))
	if near := provider.Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; use one of " + strings.Join(known, ", ")
}

// override returns the endpoint of a service in a region, nil for AWS' own. A section for this
// generation of load balancers alone comes before one for both.
func (c *Config) override(s service, region string) *ServiceOverride {
	var found *ServiceOverride
	width := 0
	for _, name := range c.overrideNames() {
		o := c.ServiceOverride[name]
		services, _ := servicesNamed(o.Service)
		if !slices.Contains(services, s) || s != serviceIMDS && o.Region != region {
			continue
		}
		if found == nil || len(services) < width {
			found, width = o, len(services)
		}
	}
	return found
}
