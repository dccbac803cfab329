// Package nodequeue has the queue of controllers that sync Nodes in batches.
package nodequeue

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
)

// Task is an item of the queue. InstanceID is set for a Node that was deleted.
type Task struct{ Node, InstanceID string }

// Work is a task with its Node, which is nil if it was deleted.
type Work struct {
	Task
	Object *v1.Node
}

// Options configure New. Same, Deleted, OnError and Rate are optional.
type Options struct {
	// Name is the name of the queue in metrics and logs.
	Name string
	// NeedsSync reports whether the queue has to sync a Node. It does no I/O.
	NeedsSync func(*v1.Node) bool
	// Same reports whether nothing has changed that a sync depends on: the Node is not synced again then, and one whose
	// sync failed waits for its next attempt. After other changes, a Node with the same machine waits for updateDelay.
	Same func(before, after *v1.Node) bool
	// Deleted returns the ID of the instance of a deleted Node, if the queue has to sync it.
	Deleted func(*v1.Node) (instanceID string, ok bool)
	// Sync syncs a batch, and returns the errors of the tasks to retry.
	Sync func(context.Context, []Work) map[Task]error
	// MaxBatch is the maximum number of tasks of a batch, Workers the number of concurrent batches.
	MaxBatch, Workers int
	// MaxRetries is the number of retries of a task; 0 is unlimited.
	MaxRetries int
	// MaxBackoff is the maximum time between two attempts.
	MaxBackoff time.Duration
	// OnError is called after each failed attempt; last reports that it is not retried.
	OnError func(last bool)
	// Rate limits new tasks, but for those of updateDelay.
	Rate *rate.Limiter
}

// FailAll returns the error for each task of a batch.
func FailAll(batch []Work, err error) map[Task]error {
	errs := make(map[Task]error, len(batch))
	for _, w := range batch {
		errs[w.Task] = err
	}
	return errs
}

// firstBackoff is the time before the first retry; it doubles with each.
const firstBackoff = 5 * time.Millisecond

// updateDelay is the time until a Node with the same machine is synced again: its kubelet can change what a sync
// depends on as often as it likes.
const updateDelay = 5 * time.Second

// Queue syncs Nodes in batches: a free worker takes all queued tasks, so that a single Node is synced at once
// and many take few calls.
type Queue struct {
	options Options
	queue   workqueue.TypedRateLimitingInterface[Task]
	lister  corelisters.NodeLister
	synced  cache.InformerSynced
	// batching is held by the worker that collects a batch.
	batching sync.Mutex
}

// New returns a queue that watches Nodes. The caller must call Run.
func New(o Options, nodes coreinformers.NodeInformer) (*Queue, error) {
	q := &Queue{
		options: o, lister: nodes.Lister(), synced: nodes.Informer().HasSynced,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[Task](firstBackoff, o.MaxBackoff),
			workqueue.TypedRateLimitingQueueConfig[Task]{Name: o.Name}),
	}
	_, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    q.changed,
		UpdateFunc: q.updated,
		DeleteFunc: q.deleted,
	})
	return q, err
}

func (q *Queue) updated(old, object any) {
	before, _ := old.(*v1.Node)
	after, _ := object.(*v1.Node)
	switch {
	case before == nil || after == nil:
		q.changed(object)
	case q.options.Same != nil && q.options.Same(before, after) || !q.options.NeedsSync(after):
	case before.UID == after.UID && before.Spec.ProviderID == after.Spec.ProviderID:
		q.queue.AddAfter(Task{Node: after.Name}, updateDelay)
	default:
		q.changed(object)
	}
}

func (q *Queue) changed(object any) {
	if node, ok := object.(*v1.Node); ok && q.options.NeedsSync(node) {
		q.add(Task{Node: node.Name})
	}
}

// deleted handles the deletion of a Node.
func (q *Queue) deleted(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	node, ok := object.(*v1.Node)
	if !ok || q.options.Deleted == nil {
		return
	}
	if id, ok := q.options.Deleted(node); ok {
		q.add(Task{Node: node.Name, InstanceID: id})
	}
}

func (q *Queue) add(task Task) {
	if q.options.Rate == nil {
		q.queue.Add(task)
		return
	}
	q.queue.AddAfter(task, q.options.Rate.Reserve().Delay())
}

// Run syncs Nodes until ctx is done.
func (q *Queue) Run(ctx context.Context) {
	context.AfterFunc(ctx, q.queue.ShutDown)
	defer q.queue.ShutDown()
	if !cache.WaitForCacheSync(ctx.Done(), q.synced) {
		return
	}
	var workers sync.WaitGroup
	for range q.options.Workers {
		workers.Go(func() {
			for {
				tasks := q.nextBatch()
				if len(tasks) == 0 {
					return
				}
				q.sync(ctx, tasks)
			}
		})
	}
	workers.Wait()
}

// nextBatch waits for a task, and returns it with the other queued tasks. It returns none after the queue is shut
// down.
func (q *Queue) nextBatch() []Task {
	q.batching.Lock()
	defer q.batching.Unlock()
	task, shutdown := q.queue.Get()
	if shutdown {
		return nil
	}
	tasks := []Task{task}
	for len(tasks) < q.options.MaxBatch && q.queue.Len() > 0 {
		if task, shutdown = q.queue.Get(); shutdown {
			break
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// syncBatch syncs a batch. After a panic, all of it is retried.
func (q *Queue) syncBatch(ctx context.Context, batch []Work) map[Task]error {
	errs, err := panics.Value(func() (map[Task]error, error) { return q.options.Sync(ctx, batch), nil })
	if err != nil {
		return FailAll(batch, err)
	}
	return errs
}

func (q *Queue) sync(ctx context.Context, tasks []Task) {
	var batch []Work
	errs := map[Task]error{}
	for _, task := range tasks {
		if task.InstanceID != "" {
			batch = append(batch, Work{Task: task})
			continue
		}
		switch node, err := q.lister.Get(task.Node); {
		case apierrors.IsNotFound(err):
		case err != nil:
			errs[task] = err
		case q.options.NeedsSync(node):
			batch = append(batch, Work{task, node})
		}
	}
	if len(batch) > 0 {
		for task, err := range q.syncBatch(ctx, batch) {
			errs[task] = err
		}
	}
	logger := klog.FromContext(ctx)
	for _, task := range tasks {
		err := errs[task]
		switch {
		case err == nil || ctx.Err() != nil:
			q.queue.Forget(task)
		case q.options.MaxRetries > 0 && q.queue.NumRequeues(task) >= q.options.MaxRetries:
			q.observeError(true)
			logger.Error(err, "Failed to sync node; not retried until the node changes",
				"queue", q.options.Name, "node", task.Node, "attempts", q.options.MaxRetries+1)
			q.queue.Forget(task)
		default:
			q.observeError(false)
			logger.V(2).Info("Failed to sync node; retrying", "queue", q.options.Name, "node", task.Node, "err", err)
			q.queue.AddRateLimited(task)
		}
		q.queue.Done(task)
	}
}

func (q *Queue) observeError(last bool) {
	if q.options.OnError != nil {
		q.options.OnError(last)
	}
}
