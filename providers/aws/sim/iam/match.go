package iam

// Match compares with IAM's wildcards: * stands for any text, ? for any one character, slashes included.
func Match(pattern, text string) bool {
	// back is the position in the pattern after the last star, and in the text of its last attempt.
	p, t, back, from := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			back, from = p+1, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case back >= 0:
			from++
			p, t = back, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
