package annotation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		value string
		want  []string
		err   string
	}{
		{" b ", []string{"b"}, ""},
		{"a, b", []string{"a", "b"}, ""},
		{"", nil, "the value is empty"},
	} {
		var problems intent.Problems
		o := Read(intent.Service{Annotations: map[string]string{KeyMemberZones: tc.value}}, &problems)
		err := problems.Err("x")
		if diff := cmp.Diff(tc.want, o.MemberZones); diff != "" || (err != nil) != (tc.err != "") {
			t.Errorf("%q: %v (-want +got):\n%s", tc.value, err, diff)
		}
		if err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%q: error %v", tc.value, err)
		}
	}
}

func TestEveryAnnotationIsDocumented(t *testing.T) {
	for _, doc := range Documentation() {
		var problems intent.Problems
		Read(intent.Service{Annotations: map[string]string{doc.Key: doc.Example}}, &problems)
		if doc.Type == "" || doc.Doc == "" || doc.Example == "" || problems.Len() > 0 {
			t.Errorf("%+v: %v", doc, problems.Err("x"))
		}
	}
}
