package golden

import "strings"

// Names replaces IDs, which differ between clouds, by names: the resulting texts can be compared, and test
// cases can use the names. The zero value has none.
type Names struct{ pairs []string }

// Add assigns a name, such as {subnet-a}, to an ID. Neither may be a substring of another one.
func (n *Names) Add(name, id string) { n.pairs = append(n.pairs, id, name) }

// Replace replaces IDs by names. It trims trailing white space, which an empty ID leaves.
func (n *Names) Replace(text string) string {
	return strings.TrimRight(strings.NewReplacer(n.pairs...).Replace(text), " ")
}

// Expand replaces names by IDs.
func (n *Names) Expand(text string) string {
	inverse := make([]string, 0, len(n.pairs))
	for i := 0; i < len(n.pairs); i += 2 {
		inverse = append(inverse, n.pairs[i+1], n.pairs[i])
	}
	return strings.NewReplacer(inverse...).Replace(text)
}
