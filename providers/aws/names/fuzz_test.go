package names

import (
	"strings"
	"testing"
)

// FuzzProviderID: an ID that is read is one of EC2's or of Fargate's, without any of the text around it.
func FuzzProviderID(f *testing.F) {
	for _, seed := range []string{"aws:///us-west-2a/i-0123", "aws:////i-1", "i-1", "aws://x/i-1", "aws:///z/p/fargate-ip-10-0-0-1", "gce://x"} {
		f.Add(seed)
	}
	scheme := ProviderIDs(func() string { return "us-west-2" })
	f.Fuzz(func(t *testing.T, text string) {
		id, err := scheme.Parse(text)
		if err == nil && (strings.Contains(id, "/") || !strings.HasPrefix(id, "i-") && !IsFargate(id)) {
			t.Errorf("%q is read as %q", text, id)
		}
	})
}
