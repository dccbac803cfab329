// Package spell finds the known word that is most similar to a misspelt one.
package spell

import "strings"

// Limits of what Nearest compares. Words come from annotations and files, and the work grows with their lengths and
// with the number of known words.
const (
	maxWord  = 128
	maxKnown = 300
)

// Nearest returns the entry of known that is closest to word, ignoring case, or "" if none is a plausible
// typo. Ties go to the earlier entry. It returns "" for a very long word, and compares only the first few hundred
// entries.
func Nearest(word string, known []string) string {
	if len(word) > maxWord {
		return ""
	}
	best, bestDistance := "", tolerance(word)+1
	folded := fold(word)
	for _, k := range known[:min(len(known), maxKnown)] {
		if len(k) > 2*maxWord {
			continue
		}
		if d := distance(folded, fold(k)); d < bestDistance {
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

var separators = strings.NewReplacer("_", "-", " ", "-")

func fold(s string) []rune { return []rune(separators.Replace(strings.ToLower(s))) }

// distance counts the insertions, deletions, substitutions and swaps of neighbours that lead
// from a to b (optimal string alignment). It keeps three rows.
func distance(a, b []rune) int {
	before, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
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
		before, previous, current = previous, current, before
	}
	return previous[len(b)]
}
