package loadbalancer

// matched are the objects of one kind, grouped by action.
type matched[H, W any] struct {
	// Missing objects are desired and do not exist: the plan creates them.
	Missing []W
	// Kept objects exist and are desired: the plan updates those with differing fields.
	Kept []pair[H, W]
	// Surplus objects exist and are not desired: the plan deletes them.
	Surplus []H
}

// pair is an existing object and the desired one.
type pair[H, W any] struct {
	Have H
	Want W
}

// match sorts the objects of one kind. same reports whether an existing object is a desired one, or can be
// updated in place to become it; if an immutable field differs, it returns false, and the plan deletes the
// one and creates the other. Each object is part of one pair at most. The order of the results is that of the
// arguments.
func match[H, W any](have []H, want []W, same func(H, W) bool) matched[H, W] {
	var m matched[H, W]
	used := make([]bool, len(have))
	for _, w := range want {
		i := 0
		for i < len(have) && (used[i] || !same(have[i], w)) {
			i++
		}
		if i == len(have) {
			m.Missing = append(m.Missing, w)
			continue
		}
		used[i] = true
		m.Kept = append(m.Kept, pair[H, W]{have[i], w})
	}
	for i, h := range have {
		if !used[i] {
			m.Surplus = append(m.Surplus, h)
		}
	}
	return m
}
