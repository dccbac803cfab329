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
	portable := append(Keys(), KeyApprove, KeyProvider)
	for _, key := range r.suspectAnnotations() {
		advice, known := r.vocabulary.Advice[key]
		switch {
		case known:
			r.warn(Unsupported, key, advice)
		case strings.HasPrefix(key, Prefix):
			if !slices.Contains(portable, key) {
				r.warnUnknown(key, "no such annotation", append(slices.Clone(r.vocabulary.Portable), KeyApprove))
			}
		default:
			r.warnByPrefix(key)
		}
	}
}

// suspectAnnotations returns the annotations that warnUnknownAnnotations may warn about, sorted. A Service may have
// tens of thousands of others.
func (r *reader) suspectAnnotations() []string {
	prefixes := append([]string{Prefix}, r.vocabulary.OwnPrefixes...)
	prefixes = slices.AppendSeq(prefixes, maps.Keys(r.vocabulary.ForeignPrefixes))
	var suspect []string
	for key := range r.svc.Annotations {
		_, advised := r.vocabulary.Advice[key]
		isPrefix := func(prefix string) bool { return strings.HasPrefix(key, prefix) }
		if !advised && !slices.ContainsFunc(prefixes, isPrefix) {
			continue
		}
		if advised || key != v1.AnnotationLoadBalancerSourceRangesKey && !slices.Contains(r.vocabulary.Own, key) {
			suspect = append(suspect, key)
		}
	}
	slices.Sort(suspect)
	return suspect
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
	if len(r.warnings) == maxMessages {
		r.unlisted++
		return
	}
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
