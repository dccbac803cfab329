package lease

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

// The lease counts its holders, and the annotation those of this manager. The first of them without another manager since
// is returned.
func TestMark(t *testing.T) {
	lease := held("node-1_uid", now)
	lease.UID = "u-1"
	client := fake.NewClientset(lease)
	for _, step := range []struct {
		name        string
		transitions int32
		want        string
	}{
		{"first, after another manager", 7, "u-1/7"},
		{"the next replica", 8, "u-1/7"},
		{"the same leader", 8, "u-1/7"},
		{"after another manager", 10, "u-1/10"},
		{"after that", 11, "u-1/10"},
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
			t.Errorf("%s: since %q, want %q, error %v", step.name, got, step.want, err)
		}
	}
	if _, err := Mark(t.Context(), client.CoordinationV1(), "kube-system", "another"); err == nil {
		t.Error("a lease that does not exist was marked")
	}
}

// A lease without a readable mark is another manager's, whatever its number.
func TestMarkOfAnotherManager(t *testing.T) {
	for _, annotation := range []string{"", "0", "0-x"} {
		lease := held("node-1_uid", now)
		lease.Spec.LeaseTransitions = ptr.To[int32](1)
		lease.Annotations = map[string]string{annotationTransitions: annotation}
		client := fake.NewClientset(lease)
		if got, err := Mark(t.Context(), client.CoordinationV1(), "kube-system", "manager"); err != nil || got != "/1" {
			t.Errorf("after %q: since %q, error %v", annotation, got, err)
		}
	}
}

// A renewal at the same time is no error, unless there is one at each attempt.
func TestMarkWhileTheLeaseIsRenewed(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "manager", errors.New("renewed"))
	for conflicts, fails := range map[int]bool{markAttempts - 1: false, markAttempts: true} {
		client := fake.NewClientset(held("node-1_uid", now))
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			conflicts--
			return conflicts >= 0, nil, conflict
		})
		if _, err := Mark(t.Context(), client.CoordinationV1(), "kube-system", "manager"); (err != nil) != fails {
			t.Errorf("error %v, want one: %t", err, fails)
		}
	}
}
