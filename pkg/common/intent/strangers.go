package intent

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/internal/spell"
)

// strangers warns about annotations that somebody expects to work and that nobody reads.
func (r *reader) strangers() {
	for _, key := range slices.Sorted(maps.Keys(r.svc.Annotations)) {
		advice, known := r.vocabulary.Advice[key]
		switch {
		case known:
			r.warn(Unsupported, key, advice)
		case slices.Contains(r.vocabulary.Own, key), key == v1.AnnotationLoadBalancerSourceRangesKey:
		case strings.HasPrefix(key, Prefix):
			if !slices.Contains(Keys(), key) {
				r.unknown(key, "no such annotation", r.vocabulary.Portable)
			}
		default:
			r.stranger(key)
		}
	}
}

// foreignPrefixes are how the Service annotations of managers for other clouds begin, and those clouds'
// names: manifests move between clouds, and what they say to the other one has no effect here.
func foreignPrefixes() map[string]string {
	return map[string]string{
		"service.beta.kubernetes.io/aws-load-balancer-":           "aws",
		"loadbalancer.openstack.org/":                             "openstack",
		"service.beta.kubernetes.io/openstack-":                   "openstack",
		"fake.unified-ccm.io/":                                    "fake",
		"service.beta.kubernetes.io/azure-":                       "azure",
		"cloud.google.com/":                                       "gce",
		"networking.gke.io/":                                      "gce",
		"load-balancer.hetzner.cloud/":                            "hcloud",
		"service.beta.kubernetes.io/do-loadbalancer-":             "digitalocean",
		"service.beta.kubernetes.io/oci-":                         "oci",
		"oci.oraclecloud.com/":                                    "oci",
		"service.kubernetes.io/ibm-load-balancer-cloud-provider-": "ibm",
		"service.beta.kubernetes.io/linode-loadbalancer-":         "linode",
		"service.beta.kubernetes.io/scw-loadbalancer-":            "scaleway",
	}
}

// stranger decides by the longest prefix, because one cloud's may begin with another's.
func (r *reader) stranger(key string) {
	longest, owner := "", ""
	for prefix, name := range foreignPrefixes() {
		if strings.HasPrefix(key, prefix) && len(prefix) > len(longest) {
			longest, owner = prefix, name
		}
	}
	own := false
	for _, prefix := range r.vocabulary.OwnPrefixes {
		if strings.HasPrefix(key, prefix) && len(prefix) >= len(longest) {
			longest, own = prefix, true
		}
	}
	switch {
	case own || owner == r.vocabulary.Provider && owner != "":
		r.unknown(key, "the cloud "+r.vocabulary.Provider+" has no such annotation", r.vocabulary.Own)
	case longest != "":
		r.warn(Unsupported, key, "it is for the cloud "+owner+" and has no effect on "+r.vocabulary.Provider)
	}
}

func (r *reader) unknown(key, message string, known []string) {
	advice := "remove it"
	if near := nearest(key, known); near != "" {
		advice = "did you mean " + near + "?"
	}
	r.warn(UnknownKey, key, message+", so it has no effect; "+advice)
}

// nearest compares what follows the common beginning: keys are mostly prefix, which would make
// any two of them look alike.
func nearest(key string, known []string) string {
	common := commonPrefix(key, known)
	tails := make([]string, len(known))
	for i, k := range known {
		tails[i] = k[len(common):]
	}
	near := spell.Nearest(key[len(common):], tails)
	if near == "" {
		return ""
	}
	return common + near
}

// commonPrefix is how all known keys and key begin, up to the last separator.
func commonPrefix(key string, known []string) string {
	common := key
	for _, k := range known {
		n := 0
		for n < len(common) && n < len(k) && common[n] == k[n] {
			n++
		}
		common = common[:n]
	}
	return common[:strings.LastIndexAny(common, "/-.")+1]
}
