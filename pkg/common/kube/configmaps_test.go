package kube

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestConfigMapIsCreatedOnce(t *testing.T) {
	name := types.NamespacedName{Namespace: "kube-system", Name: "uid"}
	existing := &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, Data: map[string]string{"uid": "old"},
	}
	initial := map[string]string{"uid": "new"}
	denied := apierrors.NewForbidden(v1.Resource("configmaps"), "uid", errors.New("no rule"))
	tests := map[string]struct {
		exists, readOnly bool
		// other is set if another client creates it between the read and the creation.
		other   bool
		deny    string
		want    map[string]string
		creates int
		err     func(error) bool
	}{
		"exists":                    {exists: true, want: existing.Data},
		"does not exist":            {want: initial, creates: 1},
		"another client is faster":  {other: true, want: existing.Data, creates: 1},
		"exists, read-only":         {exists: true, readOnly: true, want: existing.Data},
		"does not exist, read-only": {readOnly: true, err: apierrors.IsNotFound},
		"may not be read":           {exists: true, deny: "get", err: apierrors.IsForbidden},
		"may not be created":        {deny: "create", creates: 1, err: apierrors.IsForbidden},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			client := fake.NewClientset()
			if test.exists {
				client = fake.NewClientset(existing)
			}
			client.PrependReactor("*", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
				if a.GetVerb() == test.deny {
					return true, nil, denied
				}
				if a.GetVerb() == "create" && test.other {
					return false, nil, client.Tracker().Add(existing)
				}
				return false, nil, nil
			})
			data, err := NewConfigMaps(client, test.readOnly)(t.Context(), name, initial)
			if test.err == nil && err != nil || test.err != nil && !test.err(err) {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(test.want, data); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			creates := 0
			for _, a := range client.Actions() {
				if a.GetVerb() == "create" {
					creates++
				}
			}
			if creates != test.creates {
				t.Errorf("%d creations, want %d", creates, test.creates)
			}
		})
	}
}
