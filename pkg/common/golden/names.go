package golden

import "strings"

// Names are names for IDs, which differ from one cloud to the next: texts with the names in their place
// can be compared, and test cases can be written with them. The zero value has none.
type Names struct{ pairs []string }

// Call gives an ID a name, such as {subnet-a}. Neither may be part of another one.
func (n *Names) Call(name, id string) { n.pairs = append(n.pairs, id, name) }

// Show puts names in the place of IDs. White space at the end, such as an empty ID leaves, is cut off.
func (n *Names) Show(text string) string {
	return strings.TrimRight(strings.NewReplacer(n.pairs...).Replace(text), " ")
}

// Expand puts IDs in the place of names.
func (n *Names) Expand(text string) string {
	turned := make([]string, 0, len(n.pairs))
	for i := 0; i < len(n.pairs); i += 2 {
		turned = append(turned, n.pairs[i+1], n.pairs[i])
	}
	return strings.NewReplacer(turned...).Replace(text)
}
