package annotation

import (
	"fmt"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
)

// FuzzRead: whatever people write, reading it does not fail in any other way than with an error that is theirs.
func FuzzRead(f *testing.F) {
	f.Add(KeySubnets, "a,b")
	f.Add(KeyGroupAttributes, "stickiness.enabled=true")
	f.Add(KeyTags, "a=b=c")
	f.Fuzz(func(t *testing.T, key, value string) {
		in := intent.Service{Annotations: map[string]string{key: value, KeyType: "nlb"}}
		intenttest.VerifyCost(t, key, func() []string {
			o, err := Read(in)
			if err != nil && !cloudapi.Is(err, cloudapi.Invalid) {
				t.Errorf("%q: %q: %v", key, value, err)
			}
			return append(o.Warnings, fmt.Sprint(err))
		})
	})
}
