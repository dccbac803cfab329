package intent

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/internal/spell"
)

// warnUnknownAnnotations warns about annotations that seem to configure a load balancer, and that this cloud
// does not read.
func (r *reader) warnUnknownAnnotations() {
	for _, key := range slices.Sorted(maps.Keys(r.svc.Annotations)) {
		advice, known := r.vocabulary.Advice[key]
		switch {
		case known:
			r.warn(Unsupported, key, advice)
		case slices.Contains(r.vocabulary.Own, key), key == v1.AnnotationLoadBalancerSourceRangesKey:
		case strings.HasPrefix(key, Prefix):
			if known := append(Keys(), KeyApprove); !slices.Contains(known, key) {
				r.warnUnknown(key, "no such annotation", append(slices.Clone(r.vocabulary.Portable), KeyApprove))
			}
		default:
			r.warnByPrefix(key)
		}
	}
}

// warnByPrefix warns about a typo in one of the provider's own annotations, or about another cloud's
// annotation: manifests move between clouds. The longest prefix decides, because one cloud's prefix may be a
// prefix of another's.
func (r *reader) warnByPrefix(key string) {
	longest, cloud := "", ""
	for prefix, name := range r.vocabulary.ForeignPrefixes {
		if strings.HasPrefix(key, prefix) && len(prefix) > len(longest) {
			longest, cloud = prefix, name
		}
	}
	for _, prefix := range r.vocabulary.OwnPrefixes {
		if strings.HasPrefix(key, prefix) && len(prefix) >= len(longest) {
			longest, cloud = prefix, r.vocabulary.Provider
		}
	}
	switch {
	case longest == "":
	case cloud == r.vocabulary.Provider:
		r.warnUnknown(key, "the cloud "+cloud+" has no such annotation", r.vocabulary.Own)
	default:
		r.warn(Unsupported, key, "it is for the cloud "+cloud+" and has no effect on "+r.vocabulary.Provider)
	}
}

func (r *reader) warnUnknown(key, message string, known []string) {
	advice := "remove it"
	if nearest := nearestKey(key, known); nearest != "" {
		advice = "did you mean " + nearest + "?"
	}
	r.warn(UnknownKey, key, message+", so it has no effect; "+advice)
}

// nearestKey compares the keys without their common prefix, which is most of a key and would make any
// two of them similar.
func nearestKey(key string, known []string) string {
	common := commonPrefix(key, known)
	suffixes := make([]string, len(known))
	for i, k := range known {
		suffixes[i] = k[len(common):]
	}
	suffix := spell.Nearest(key[len(common):], suffixes)
	if suffix == "" {
		return ""
	}
	return common + suffix
}

// commonPrefix returns the common prefix of key and all known keys, up to the last separator.
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
