package loadbalancer

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// noting is a cloud that writes annotations.
type noting struct{ Cloud[string, string, string] }

func (noting) Annotations(intent.Service, string) map[string]string {
	return map[string]string{"a": "new", "b": "same"}
}

func TestAnnotate(t *testing.T) {
	c := New(Options{Provider: "toy"}, noting{})
	service := &v1.Service{}
	service.Annotations = map[string]string{"a": "old", "b": "same", "c": "theirs"}
	c.annotate(t.Context(), service, intent.Service{}, "") // nobody can write: nothing happens
	var written []map[string]string
	c.SetRuntime(provider.Runtime{Annotate: func(_ context.Context, _ *v1.Service, annotations map[string]string) error {
		written = append(written, annotations)
		return errors.New("a failure stops nothing")
	}})
	c.annotate(t.Context(), service, intent.Service{}, "")
	service.Annotations["a"] = "new"
	c.annotate(t.Context(), service, intent.Service{}, "")
	if diff := cmp.Diff([]map[string]string{{"a": "new"}}, written); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}
