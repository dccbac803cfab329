package nodequeue

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
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

// A Node whose kubelet writes it all the time is synced after a while, not once for each write, and delays no other one.
func TestUpdatesAreCollected(t *testing.T) {
	for name, same := range map[string]func(before, after *v1.Node) bool{
		"all count": nil, "some count": func(before, after *v1.Node) bool { return before.Labels["x"] == after.Labels["x"] },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(node("a", "1"))
				factory := informers.NewSharedInformerFactory(client, 0)
				syncs, synced := 0, time.Time{}
				q, err := New(Options{
					Name: "test", MaxBackoff: time.Minute, Workers: 1, MaxBatch: 10, Same: same, Rate: rate.NewLimiter(10, 10),
					NeedsSync: func(*v1.Node) bool { return true },
					Sync: func(_ context.Context, batch []Work) map[Task]error {
						for _, w := range batch {
							if syncs++; w.Node == "b" {
								synced = time.Now()
							}
						}
						return nil
					},
				}, factory.Core().V1().Nodes())
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				factory.Start(ctx.Done())
				factory.WaitForCacheSync(ctx.Done())
				go q.Run(ctx)
				nodes := client.CoreV1().Nodes()
				for i := range 300 {
					n := node("a", "1")
					n.Labels = map[string]string{"x": strconv.Itoa(i)}
					if _, err := nodes.Update(ctx, n, metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
					time.Sleep(30 * time.Millisecond)
				}
				created := time.Now()
				if _, err := nodes.Create(ctx, node("b", "2"), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				cancel()
				factory.Shutdown()
				synctest.Wait()
				if syncs < 3 || syncs > 6 || synced.IsZero() || synced.Sub(created) > time.Second {
					t.Errorf("%d syncs, and another Node waits for %s", syncs, synced.Sub(created))
				}
			})
		})
	}
}
