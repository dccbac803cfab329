package iam

// Match reports whether a text matches a pattern with IAM's wildcards: * stands for any text, ? for any one character,
// slashes included.
func Match(pattern, text string) bool {
	// afterStar is the position in the pattern after the last star, start that of the attempt to match it in the text.
	p, t, afterStar, start := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			afterStar, start = p+1, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case afterStar >= 0:
			start++
			p, t = afterStar, start
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
