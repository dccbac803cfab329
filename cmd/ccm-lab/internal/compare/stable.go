package compare

import "regexp"

// placeholders are the patterns of values that the API server, a cloud or a clock chooses, each with the text that
// replaces such a value. They apply in this order, so that longer patterns come before those that match a part of them.
var placeholders = []struct {
	pattern *regexp.Regexp
	stable  string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`), "TIME"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(µs|ms)\b`), "TIME"},
	{regexp.MustCompile(`([0-9a-f]{2}:){5}[0-9a-f]{2}`), "MAC"},
	// Records of what was applied, and checksums of members.
	{regexp.MustCompile(`(applied=|targets=)(\d+\.)?[\w-]{11}\b(\.\.[\w-]+)?`), "${1}RECORD"},
	// The name of a load balancer, and its number in a DNS name.
	{regexp.MustCompile(`\b(a)[0-9a-f]{31}(-\d{9,10}\b)?`), "${1}UID"},
	{regexp.MustCompile(`\bAIPA[0-9A-F]{16}\b`), "AIPA-ID"},
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "ID"},
	{regexp.MustCompile(`\b([a-z]+)-[0-9a-f]{17}\b`), "$1-ID"},
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), "ID"},
	{regexp.MustCompile(`(-)([0-9a-f]{8}|[0-9a-f]{10})\b`), "${1}HASH"},
	// The range of node ports is 30000 to 32767.
	{regexp.MustCompile(`\b3[0-2]\d{3}\b`), "NODEPORT"},
}

// stable replaces random values in a text by placeholders.
func stable(text string) string {
	for _, r := range placeholders {
		text = r.pattern.ReplaceAllString(text, r.stable)
	}
	return text
}
