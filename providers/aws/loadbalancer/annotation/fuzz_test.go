package annotation

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// FuzzRead: whatever people write, reading it does not fail in any other way than with an error that is theirs.
func FuzzRead(f *testing.F) {
	f.Add(KeySubnets, "a,b")
	f.Add(KeyGroupAttributes, "stickiness.enabled=true")
	f.Add(KeyTags, "a=b=c")
	f.Fuzz(func(t *testing.T, key, value string) {
		in := intent.Service{Annotations: map[string]string{key: value, KeyType: "nlb"}}
		if _, err := Read(in); err != nil && !cloudapi.Is(err, cloudapi.Invalid) {
			t.Errorf("%q: %q: %v", key, value, err)
		}
	})
}
