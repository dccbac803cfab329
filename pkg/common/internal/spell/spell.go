// Package spell finds the known word that is most similar to a misspelt one.
package spell

import "strings"

// Nearest returns the entry of known that is closest to word, ignoring case, or "" if none is a plausible
// typo. Ties go to the earlier entry.
func Nearest(word string, known []string) string {
	best, bestDistance := "", tolerance(word)+1
	for _, k := range known {
		if d := distance(fold(word), fold(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// tolerance is the maximum number of typos in a word of this length: a third of its letters, and at least
// one. More would suggest unrelated words.
func tolerance(word string) int {
	return max(1, len(word)/3)
}

func fold(s string) []rune {
	return []rune(strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(s)))
}

// distance counts the insertions, deletions, substitutions and swaps of neighbours that lead
// from a to b (optimal string alignment). It keeps three rows.
func distance(a, b []rune) int {
	var before []int
	previous, current := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, previous, current = previous, current, make([]int, len(b)+1)
	}
	return previous[len(b)]
}
