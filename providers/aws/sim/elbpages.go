package sim

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// elbPage has the paging parameters of both generations of Elastic Load Balancing.
type elbPage struct {
	Marker   string
	PageSize *int32
}

const (
	maxELBPage = 400
	// maxDescribeV2 is how many objects one Describe or tag operation may name.
	maxDescribeV2 = 20
)

// elbCut cuts one page out of a list that is sorted by key, and returns what a client sees of each object.
func elbCut[T, V any](
	all []T, p elbPage, key func(T) string, view func(T) V,
) (out query.Members[V], next string, err error) {
	size := maxELBPage
	if p.PageSize != nil {
		if size = int(*p.PageSize); size < 1 || size > maxELBPage {
			return out, "", validation("1 validation error detected: Value '%d' at 'pageSize' failed to satisfy constraint: "+
				"Member must have value between 1 and %d", size, maxELBPage)
		}
	}
	from := 0
	if p.Marker != "" {
		after, ok := decodeToken(p.Marker)
		if !ok {
			return out, "", validation("Invalid marker '%s'", p.Marker)
		}
		from = slices.IndexFunc(all, func(v T) bool { return key(v) > after })
		if from < 0 {
			from = len(all)
		}
	}
	to := min(from+size, len(all))
	if to < len(all) {
		next = encodeToken(key(all[to-1]))
	}
	for _, x := range all[from:to] {
		out.Member = append(out.Member, view(x))
	}
	return out, next, nil
}
