package merge

import (
	"context"
	"slices"
)

// settle writes patches until each has its result, and returns the owners of those that the cloud has rejected.
func (d *document[D]) settle(ctx context.Context, patches []*patch[D]) (rejected []string) {
	d.fresh = false
	for len(patches) > 0 {
		object, applied, err := d.attempt(ctx, patches)
		if err == nil || !d.options.IsRejection(err) {
			endAll(applied, object, err)
			return rejected
		}
		guilty := d.named(err, applied)
		if len(guilty) == 0 {
			guilty, applied, err = d.bisect(ctx, applied, err)
		}
		for _, p := range guilty {
			rejected = append(rejected, p.owner)
		}
		endAll(guilty, d.have, err)
		patches = without(applied, guilty)
	}
	return rejected
}

// named returns the patches that a rejection names.
func (d *document[D]) named(err error, patches []*patch[D]) (guilty []*patch[D]) {
	owners := make([]string, len(patches))
	for i, p := range patches {
		owners[i] = p.owner
	}
	names := d.options.Guilty(err, owners)
	for _, p := range patches {
		if slices.Contains(names, p.owner) {
			guilty = append(guilty, p)
		}
	}
	return guilty
}

// bisect finds a patch because of which the cloud rejects the first patches, with log2(N) writes. What succeeds
// meanwhile is written. It returns the guilty patch, those without a result, and the error of the guilty patch. If a
// write fails with another error, all patches get that one, and none is guilty.
func (d *document[D]) bisect(ctx context.Context, patches []*patch[D], err error) (guilty, rest []*patch[D], _ error) {
	bad := len(patches) // patches[:bad] are rejected together
	for bad > 1 {
		half := patches[:bad/2]
		object, applied, halfErr := d.attempt(ctx, half)
		switch {
		case halfErr == nil:
			endAll(applied, object, nil)
			patches, bad = patches[len(half):], bad-len(half)
		case !d.options.IsRejection(halfErr):
			endAll(applied, object, halfErr)
			endAll(patches[len(half):], object, halfErr)
			return nil, nil, halfErr
		default:
			patches, bad, err = slices.Concat(applied, patches[len(half):]), len(applied), halfErr
		}
	}
	return patches[:bad], patches, err
}

// without returns the patches that are not among others.
func without[D any](patches, others []*patch[D]) []*patch[D] {
	return slices.DeleteFunc(slices.Clone(patches), func(p *patch[D]) bool { return slices.Contains(others, p) })
}

func endAll[D any](patches []*patch[D], object D, err error) {
	for _, p := range patches {
		p.end(object, err)
	}
}
