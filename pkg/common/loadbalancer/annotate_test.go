package loadbalancer

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

func TestAnnotate(t *testing.T) {
	c, wanted := newFixture(t), map[string]string{"a": "new", "b": "same"}
	service := &v1.Service{}
	service.Annotations = map[string]string{"a": "old", "b": "same", "c": "theirs"}
	c.SetRuntime(provider.Runtime{})
	c.annotate(t.Context(), service, wanted) // no Annotate function: nothing happens
	var written []map[string]string
	c.SetRuntime(provider.Runtime{Annotate: func(_ context.Context, _ *v1.Service, annotations map[string]string) error {
		written = append(written, annotations)
		return errors.New("a failure stops nothing")
	}})
	c.annotate(t.Context(), service, wanted)
	service.Annotations["a"] = "new"
	c.annotate(t.Context(), service, wanted)
	if diff := cmp.Diff([]map[string]string{{"a": "new"}}, written); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}
