package plan

import "slices"

// Following returns a change and those that come only after it, directly or not.
func Following(changes []Change, first Ref) map[Ref]bool {
	follows := map[Ref]bool{first: true}
	for found := true; found; {
		found = false
		for _, c := range changes {
			if !follows[c.Ref] && slices.ContainsFunc(c.After, func(r Ref) bool { return follows[r] }) {
				follows[c.Ref], found = true, true
			}
		}
	}
	return follows
}
