package compare

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
)

// TestSyncInFlightIsNoVerdict waits for a sync that does not end. A Service without an Event has been ignored.
func TestSyncInFlightIsNoVerdict(t *testing.T) {
	for name, reasons := range map[string][]string{
		"in flight":   {"EnsuringLoadBalancer"},
		"retrying":    {"EnsuringLoadBalancer", "SyncLoadBalancerFailed", "EnsuringLoadBalancer"},
		"in deletion": {"EnsuringLoadBalancer", "EnsuredLoadBalancer", "DeletingLoadBalancer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				plane := &lab.ControlPlane{Client: client}
				trial := &Trial{namespace: "trial", started: time.Now(), run: &run{
					Column: &Column{}, cluster: &lab.Cluster{Plane: plane}, live: &lab.Live{Client: client},
				}}
				ended := 0
				for i, reason := range reasons {
					if slices.Contains(endReasons, reason) {
						ended++
					}
					event := &v1.Event{
						ObjectMeta:     metav1.ObjectMeta{Namespace: "trial", Name: fmt.Sprint("event-", i)},
						InvolvedObject: v1.ObjectReference{Kind: "Service", Namespace: "trial", Name: serviceName},
						Reason:         reason, Count: 1, LastTimestamp: metav1.Now(),
					}
					if _, err := client.CoreV1().Events("trial").Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				if err := trial.awaitSync(t.Context(), serviceName, ended); err == nil {
					t.Error("no error about a sync in flight")
				}
			})
		})
	}
}
