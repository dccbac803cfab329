package lease

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
)

// The lease counts its holders, and the annotation those of this manager.
func TestMark(t *testing.T) {
	lease := held("node-1_uid", now)
	client := fake.NewClientset(lease)
	for _, step := range []struct {
		name        string
		transitions int32
		want        bool
	}{
		{"first, after another manager", 7, false},
		{"the next replica", 8, true},
		{"the same leader", 8, true},
		{"after another manager", 10, false},
		{"after that", 11, true},
	} {
		current, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "manager", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		current.Spec.LeaseTransitions = ptr.To(step.transitions)
		if _, err := client.CoordinationV1().Leases("kube-system").Update(t.Context(), current, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, err := Mark(t.Context(), client.CoordinationV1(), "kube-system", "manager"); err != nil || got != step.want {
			t.Errorf("%s: continues %t, error %v", step.name, got, err)
		}
	}
	if _, err := Mark(t.Context(), client.CoordinationV1(), "kube-system", "another"); err == nil {
		t.Error("a lease that does not exist was marked")
	}
}
