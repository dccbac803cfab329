package nodequeue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

func node(name, id string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{ProviderID: id}}
}

func TestDeletedFinalStateUnknown(t *testing.T) {
	q, err := New(Options{
		Name: "test", MaxBackoff: time.Minute,
		Deleted: func(n *v1.Node) (string, bool) { return n.Spec.ProviderID, n.Spec.ProviderID != "" },
	}, informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Nodes())
	if err != nil {
		t.Fatal(err)
	}
	q.deleted(cache.DeletedFinalStateUnknown{Key: "a", Obj: node("a", "i-1")})
	q.deleted(cache.DeletedFinalStateUnknown{Key: "b"})
	q.deleted(node("c", ""))
	q.deleted("nonsense")
	q.changed(cache.DeletedFinalStateUnknown{})
	if got := q.queue.Len(); got != 1 {
		t.Errorf("%d tasks", got)
	}
	if task, _ := q.queue.Get(); task != (Task{"a", "i-1"}) {
		t.Errorf("task %v", task)
	}
}

// Nodes that are queued together share a batch. Those that fail, and the whole batch after a panic, are retried.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		factory := informers.NewSharedInformerFactory(
			fake.NewClientset(node("a", "1"), node("b", "2"), node("c", "3"), node("not", "")), 0)
		var sizes []int
		q, err := New(Options{
			Name: "test", MaxBackoff: time.Minute, Workers: 1, MaxBatch: 10,
			NeedsSync: func(n *v1.Node) bool { return n.Spec.ProviderID != "" },
			Sync: func(_ context.Context, batch []Work) map[Task]error {
				switch sizes = append(sizes, len(batch)); len(sizes) {
				case 1:
					panic("a defect")
				case 2:
					return map[Task]error{batch[0].Task: errors.New("later")}
				default:
					return nil
				}
			},
		}, factory.Core().V1().Nodes())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		synctest.Wait()
		go q.Run(ctx)
		time.Sleep(time.Second)
		synctest.Wait()
		total := 0
		for _, size := range sizes {
			total += size
		}
		if total != 7 || sizes[0] != 3 || len(sizes) > 5 {
			t.Errorf("batches of %v", sizes)
		}
		cancel()
		factory.Shutdown()
		synctest.Wait()
	})
}
