package elb

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// Page has the paging parameters of both generations of Elastic Load Balancing.
type Page struct {
	Marker   string
	PageSize *int32
}

const (
	maxPage = 400
	// MaxDescribeV2 is the maximum number of objects in one Describe or tag operation.
	MaxDescribeV2 = 20
)

// Cut returns the views of one page of a list that is sorted by key.
func Cut[T, V any](
	all []T, p Page, key func(T) string, view func(T) V,
) (out query.Members[V], next string, err error) {
	size := maxPage
	if p.PageSize != nil {
		size = int(*p.PageSize)
	}
	start := 0
	if p.Marker != "" {
		after, ok := core.DecodeToken(p.Marker)
		if !ok {
			return out, "", core.Validation("Invalid marker '%s'", p.Marker)
		}
		if start = slices.IndexFunc(all, func(v T) bool { return key(v) > after }); start < 0 {
			start = len(all)
		}
	}
	end := min(start+size, len(all))
	if end < len(all) {
		next = core.EncodeToken(key(all[end-1]))
	}
	for _, x := range all[start:end] {
		out.Member = append(out.Member, view(x))
	}
	return out, next, nil
}
