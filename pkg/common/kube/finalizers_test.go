package kube

import (
	"encoding/json"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestSetFinalizersChangesOnlyTheNamedOnes(t *testing.T) {
	tests := map[string]struct{ before, add, remove, after []string }{
		"add":                    {[]string{"a"}, []string{"x"}, nil, []string{"a", "x"}},
		"add an existing one":    {[]string{"x", "a"}, []string{"x"}, nil, []string{"a", "x"}},
		"remove":                 {[]string{"a", "x", "b"}, nil, []string{"x"}, []string{"a", "b"}},
		"remove a missing one":   {[]string{"a"}, nil, []string{"x"}, []string{"a"}},
		"replace":                {[]string{"a", "x"}, []string{"y"}, []string{"x"}, []string{"a", "y"}},
		"the first of a Service": {nil, []string{"x"}, nil, []string{"x"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stored := &v1.Service{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "web", UID: "u-1", Finalizers: test.before,
			}}
			client := fake.NewClientset(stored)
			old := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u-1"}}
			if err := finalizerSetter(client)(t.Context(), old, test.add, test.remove); err != nil {
				t.Fatal(err)
			}
			got, err := client.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if slices.Sort(got.Finalizers); !slices.Equal(got.Finalizers, test.after) {
				t.Errorf("got %v, want %v", got.Finalizers, test.after)
			}
			patch := client.Actions()[0].(clienttesting.PatchAction)
			var metadata struct{ Metadata struct{ UID string } }
			if err := json.Unmarshal(patch.GetPatch(), &metadata); err != nil || metadata.Metadata.UID != "u-1" {
				t.Errorf("the patch is for any Service of the name: %s", patch.GetPatch())
			}
			if patch.GetSubresource() != "status" {
				t.Errorf("subresource %q", patch.GetSubresource())
			}
		})
	}
}

func TestRemovalOfFinalizersOfADeletedService(t *testing.T) {
	set := finalizerSetter(fake.NewClientset())
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	if err := set(t.Context(), service, nil, []string{"x"}); err != nil {
		t.Errorf("remove: %v", err)
	}
	if err := set(t.Context(), service, []string{"x"}, nil); err == nil {
		t.Error("add: no error")
	}
}
