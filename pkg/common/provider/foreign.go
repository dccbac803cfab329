package provider

import "maps"

// RegisterForeignPrefixes registers the prefixes of the Service annotations of a cloud without a provider.
// Manifests move between clouds: a Service with such an annotation gets a warning.
func RegisterForeignPrefixes(cloud string, prefixes ...string) {
	registry.Lock()
	defer registry.Unlock()
	for _, prefix := range prefixes {
		registry.foreign[prefix] = cloud
	}
}

// ForeignPrefixes maps the prefixes of Service annotations to their clouds, without those of the provider
// name itself.
func ForeignPrefixes(name string) map[string]string {
	registry.RLock()
	defer registry.RUnlock()
	all := maps.Clone(registry.foreign)
	for _, d := range registry.byName {
		for _, prefix := range d.AnnotationPrefixes {
			all[prefix] = d.Name
		}
	}
	maps.DeleteFunc(all, func(_, cloud string) bool { return cloud == name })
	return all
}
